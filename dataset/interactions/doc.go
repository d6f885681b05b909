// Package interactions brings in who took what, and when: the data behind
// recommendation and product search.
//
// Open reads a log of interactions, from sequences, tables or a built-in
// synthetic shop, as one type, Log: a chronological sequence of items for every
// user, with the leave-one-out split that recommenders are compared on. The
// last item of a user is for testing, the one before it for validation, and
// what precedes them for training.
//
// ReadItems reads what is known of the items, a Catalogue of titles and
// categories; Rows ties its rows to the items of a log. ReadESCI and
// DeriveQueries give search queries with the products that answer them.
//
// Users and items keep the names they have in the file. In memory an
// interaction takes four bytes.
package interactions
