// Package ingest reads ratings and sparse matrices of many formats into a store (package csr), whatever their size, within a
// stated memory.
//
// # From inputs to store
//
// One goroutine reads and uncompresses the inputs and cuts them into chunks; workers parse the chunks (packages format and
// format/all); the batches are taken in input order, ids are numbered (internal/ids), and entries are spooled. Then the ids are
// ranked, the longer side becomes the stored rows, and the entries are sorted (internal/extsort) and written, blocks being
// encoded beside that.
//
// These are four stages, each of which owns what it finds: a reading makes entries under temporary ids, an ordered matrix has
// them in their places, a sifted one is what of it is written, and that is published. The ingestion around them owns the
// journal, the temporary files and what is cleaned up.
//
// In memory an entry takes 8 bytes if there are no more than 256 distinct values and 2²⁸ ids on either side, else 16. When
// memory is short, entries and ids go to files of a directory beside the store (SpoolSuffix), some 2 to 6 bytes an entry, with
// a CRC-32C, and are merged from there.
//
// Entries of indices that come in the order of the store, as those of a csr-stream or a CSR matrix do, are written into it as
// they come (internal/straight), without spool and sort; the first that does not come in order has all of them spooled. The
// store has the same bytes. Until then nothing is saved that could be resumed: the ingest is as fast as its input is read.
//
// So that nothing is lost when the process dies, a journal names the files that are complete and durable, and the place in the
// inputs up to which they go. The inputs must be files: their names, sizes, times and sums have to be the same, and the options
// that the store depends on. The sum of a file up to 1 MiB covers all of it; that of a larger one 64 pieces of 16 KiB, evenly
// spread: a change between them, of the same length and with the time of the file set back, goes unnoticed. An input may also
// be a URL of https or s3 (internal/remote), whose ETag stands for the sum; its password and query are in no name that is kept
// or shown. Damaged temporary files make the ingest begin anew.
//
// The store depends on the entries alone: not on the order of the input (but for the policies First and Last), the number of
// workers or the memory. Its manifest also tells the names, sizes and sums of the inputs.
//
// A Filter and a Holdout work on the sorted entries, in further walks over them. Times are read, and sorted beside the values
// (16 bytes more an entry in memory), only where one of these asks for them.
//
// # Inputs
//
// Plain, gzip (of any number of members), zstd, bzip2 and xz input is told apart by content, and so is the format: all.Formats
// lists those there are. What is wrong with an input is a *format.ParseError. Nothing is guessed that the input does not tell:
// several readings are a *format.AmbiguityError with the flag for each.
//
// Keys are ids, or indices where the format declares a shape (Matrix Market, svmlight, arrays); such an input stands alone,
// keeps its empty rows and columns, and may have a file of ids for either (Options.RowIDs). Ids are integers if all of them are
// canonical decimal int64s ("7", not "07"), else strings of bytes. Rows (users) and columns (items) lie in ascending order of
// their ids.
//
// Text may begin with a UTF-8 byte order mark; line ends are LF or CRLF; no line may be longer than 256 KiB; blank lines are
// skipped. Package roles tells which columns of a table are which, for all formats that have such; parts of one matrix agree on
// them, not on separators or order. [Sniff] tells it all from the beginnings of the inputs, with the flags that say it
// explicitly.
//
// Of a graph (Options.Graph) rows and columns are the same ids. Values must be finite. −0 becomes 0. Zeros that are written
// down are entries, but for those of dense arrays.
package ingest
