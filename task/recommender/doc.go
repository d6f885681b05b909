// Package recommender is the pipeline from semantic IDs and a log of
// interactions to a recommender: it trains a generative model, evaluates it by
// leave-one-out over the whole catalogue, keeps it on disk and answers.
package recommender
