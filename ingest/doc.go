// Package ingest reads ratings and sparse matrices of many formats into a
// store (package csr), whatever their size, within a stated memory.
//
// # From text to store
//
// One goroutine reads and uncompresses the inputs and cuts them into chunks at
// line ends; workers parse the chunks; the batches are taken in input order, ids
// are numbered, and entries are spooled. Then the ids are ranked, the longer side
// becomes the stored rows, and the entries are sorted (in runs, which are merged;
// what is in order already is recognised) and written, blocks being encoded beside that.
//
// In memory an entry takes 8 bytes if there are no more than 256 distinct
// values and 2²⁸ ids on either side, else 16.
//
// # What does not fit in memory
//
// When memory is short, runs of entries go to files of a directory beside the
// store (SpoolSuffix), some 2 to 6 bytes an entry, with a CRC-32C. There each
// is sorted, its sorted form replacing it in one step, and no more of them are
// merged at a time than have buffers in the budget.
//
// Ids that do not fit either go to sorted lists, one whenever the dictionary is
// full. In the end the lists are merged, which ranks the ids; the ranks, sorted by
// list and place in it, are joined with the runs in one sweep. Rows and columns
// lie in ascending order of ids with or without lists.
//
// So that nothing is lost when the process dies, a journal names the files that
// are complete and durable, and the place in the inputs up to which they go. The
// inputs must be files: their names, sizes, times and sums have to be the same, and the
// options that the store depends on. The sum of a file up to 1 MiB covers all of it; that of
// a larger one 64 pieces of 16 KiB, evenly spread: a change between them, of the same length
// and with the time of the file set back, goes unnoticed. Temporary files
// that are damaged make the ingest begin anew.
//
// The store depends on the entries alone: not on the order of the input (but
// for the policies First and Last), the number of workers or the memory. Its manifest also
// tells the names, sizes and sums of the inputs.
//
// # Formats
//
// Plain, gzip (of any number of members) and zstd input is told apart by
// content, and so is the [Format]. A UTF-8 byte order mark is skipped; line ends are LF or
// CRLF; no line may be longer than 256 KiB; blank lines are skipped.
//
// Delimited text has one entry a line: a user, an item and perhaps a value; without values every
// entry is 1. All lines of an input have as many fields as the first one and the same separator.
// Blanks around fields are dropped; with a separator of one byte,
// a field may be in double quotes (RFC 4180), but not run over a line end.
// Lines at the very beginning that begin with "# " or "% " are comments.
//
// # Columns of delimited text
//
// Which column is which is told by Options.Columns, else by the names in the header, in any
// order and case: user, customer, session, …; item, movie, product, …; rating, plays, quantity, ….
// A column named as a time is never the value. Without a header the first three columns are user, item
// and value, a fourth one a time; a further header, as of files joined, is left out.
//
// Nothing is guessed that the input does not tell: whether a first line of texts above
// texts is a header, which of two columns is the value, or what more than three columns
// without names are. That is an [AmbiguityError] with the readings there are, and the flag for each.
//
// Each input has its own separator and header. The inputs have to agree: on names, if they have
// them, and on whether there are values; one without a header goes on with the columns of the one before.
//
// Text separated by blanks whose first line counts the lines behind it is
// taken for a Matrix Market file without its banner and refused, unless the format is named.
//
// Ids are integers if all of them are canonical decimal int64s ("7", not "07"), else strings of
// bytes. Rows (users) and columns (items) lie in ascending order of their ids.
//
// Matrix Market coordinate and IDX inputs keep their declared shape, empty
// rows and columns included, and have no ids. Stored entries of Matrix Market
// are kept even when their value is zero (nnz counts stored entries); zeros of
// IDX are left out. A symmetric or skew-symmetric file is expanded; it may hold either
// triangle, but not entries of both. Integers beyond 2⁵³ are rounded to the nearest float64.
//
// Values must be finite. −0 becomes 0.
package ingest
