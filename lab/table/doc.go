// Package table turns the records of experiments into statistics, tables, figures and pages.
//
// A [Record] holds the scores of one run. Records of one method and one setting form a [Group]; its score is
// the mean over seeds, with the sample standard deviation. A [Measure] says how a score reads and which values
// are good, and a [Layout] arranges groups in tables. A [Page] is a document whose tables are made from a file
// of [Run] lines; [Stale] checks that it still agrees with them.
//
// # The tie rule
//
// All tables compare methods in the same way. The best mean of a column is bold, as is every mean that reads
// the same, unless all means read the same. Another method is tied with the best, marked with =, unless the
// seeds that both have show it to be worse:
//
//   - With three or more common seeds, it is worse if the 95 % interval of the paired
//     t test lies on the worse side of 0.
//   - With one or two, whose interval would hide all but huge differences, it is worse
//     if the mean difference exceeds both the measure's resolution and the typical
//     deviation over seeds: the root mean square of the deviations in the column, or 0
//     if every method has one seed.
//   - Without a common seed there is no comparison, and no tie.
package table
