// Package interactions reads the data of recommendation and product search.
//
// Open reads a log, from sequences, tables or a built-in synthetic shop, as one
// type, Log: a chronological sequence of items for every user, with the
// leave-one-out split that recommenders are compared on. The last item of a user
// is for testing, the one before it for validation, the others for training.
//
// ReadItems reads a Catalogue of titles and categories. ReadESCI and
// DeriveQueries give search queries with the products that answer them.
//
// Users and items keep the names they have in the file. In memory an
// interaction takes four bytes.
package interactions
