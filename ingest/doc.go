// Package ingest reads ratings and sparse matrices of many formats and of any size into a store (package csr), within a given
// memory budget.
//
// # From inputs to store
//
// One goroutine reads and uncompresses the inputs and cuts them into chunks. Workers parse the chunks into batches (packages
// format and format/all). The batches are taken in input order: their ids are numbered (internal/ids), their entries spooled.
// Then the ids are ranked, the longer side of the matrix becomes the stored rows, and the entries are sorted
// (internal/extsort) and written, while other goroutines encode the blocks.
//
// The four stages hand on: entries under temporary ids (read), an ordered matrix with every entry in its place (order), a
// sifted matrix, the entries that are written (sift), and the published store (publish). Each value owns its resources. The
// pipeline around the stages owns the journal, the temporary files and the cleanup.
//
// In memory an entry takes 8 bytes if there are at most 256 distinct values and at most 2²⁸ ids on either side, else 16. When
// memory is short, entries (some 2 to 6 bytes each) and ids are written to files with a CRC-32C, in a directory beside the
// store (SpoolSuffix), and merged from there.
//
// Entries of indices that come in the order of the store, as those of a csr-stream or a CSR matrix do, are written into the
// store at once (internal/straight), without spool and sort. At the first entry out of order all entries are spooled; the
// store has the same bytes. Until then nothing that could be resumed is saved: the ingest is as fast as its input is read.
//
// So that a process that dies loses little, a journal names the files that are complete and durable, and the place in the
// inputs up to which their entries go. A resume requires files as inputs, with the same names, sizes, times and sums, and the
// same options that shape the store. The sum of a file up to 1 MiB covers all of it, that of a larger file 64 pieces of 16 KiB,
// evenly spread: a change between the pieces that keeps length and time goes unnoticed. An input may also be a URL of https or
// s3 (internal/remote), whose ETag replaces the sum; its password and query are left out of every name that is kept or shown.
// If temporary files are damaged, the ingest begins anew.
//
// The store depends on the entries alone: not on the order of the input (except under the policies First and Last), the number
// of workers or the memory. Its manifest also records the names, sizes and sums of the inputs.
//
// A Filter and a Holdout work on the sorted entries, in further walks over them. Times are read, and sorted beside the values
// (16 bytes more an entry in memory), only if a Filter or a Holdout needs them.
//
// # Inputs
//
// Plain, gzip (of any number of members), zstd, bzip2 and xz input is recognised by content, and so is the format: see
// all.Formats. A defect of an input is a *format.ParseError. Nothing is guessed that the input does not determine: an input
// with several readings is a *format.AmbiguityError that names the flag for each reading.
//
// Keys are ids, or indices where the format declares a shape (Matrix Market, svmlight, arrays). An input with a declared shape
// stands alone, keeps its empty rows and columns, and may have a file of ids for each side (Options.RowIDs and ColIDs). Ids
// are integers if all of them are canonical decimal int64s ("7", not "07"), else strings of bytes. Rows (users) and columns
// (items) are in ascending order of their ids.
//
// Text may begin with a UTF-8 byte order mark; lines end with LF or CRLF and have at most 256 KiB; blank lines are skipped.
// Package roles determines which column of a table holds rows, columns, values and times, for all formats with tables. The
// parts of one matrix must agree on these roles, not on separators or the order of columns. [Sniff] reports all of this from
// the beginnings of the inputs, with the flags that state it explicitly.
//
// In a graph (Options.Graph) rows and columns are the same nodes. Values must be finite. −0 becomes 0. Zeros that are written
// in the input are entries, except those of dense arrays.
package ingest
