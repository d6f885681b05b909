// Package retrieval is the pipeline from semantic IDs and searches with their
// answers to a search engine: it trains a dual encoder that reads words, scores
// it over the whole catalogue on searches it has not seen, keeps it on disk and
// answers.
package retrieval
