package ingest

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gdsvd/gdsvd/ingest/format"
	"github.com/gdsvd/gdsvd/ingest/internal/text"
	"github.com/gdsvd/gdsvd/internal/must"
)

// An intakeCase is input files as people have them. They are read as meant, or refused; if two
// readings are possible, each has a case with the flag that selects it.
type intakeCase struct {
	name  string
	files string // contents, separated by "----\n"
	o     Options
	want  []triple
	err   error
	says  []string // parts of the error
}

// errAmbiguous stands for any *format.AmbiguityError.
var errAmbiguous = errors.New("ambiguous")

func one(row, col string) triple { return triple{row, col, 1} }

func lines(n int, line func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(line(i) + "\n")
	}
	return b.String()
}

func ofInt(i int) string { return strconv.Itoa(i) }

var intakeCases = []intakeCase{
	// Names without values.
	{name: "pair header over texts", files: "user,item\nann,x\nbob,y\n", want: []triple{one("ann", "x"), one("bob", "y")}},
	{name: "pair header over mixed ids", files: "user_id,sku\n1,x\n2,y\n", want: []triple{one("1", "x"), one("2", "y")}},
	{name: "time is no value", files: "user_id,item_id,timestamp\n1,10,964982703\n2,11,964982704\n", want: []triple{one("1", "10"), one("2", "11")}},
	{name: "ts", files: "session;product;ts\na;b;1\nc;d;2\n", want: []triple{one("a", "b"), one("c", "d")}},
	{name: "date", files: "customer,article,t_date\n0a,1,2020-01-01\n", o: Options{}, want: []triple{one("0a", "1")}},
	{name: "created_at", files: "member|book|created_at\n1|2|2019-01-01 12:00\n", want: []triple{one("1", "2")}},
	{name: "time before value", files: "user,item,timestamp,rating\n1,10,964982703,4\n", want: []triple{{"1", "10", 4}}},
	{name: "day, month, year", files: "userID\tartistID\ttagID\tday\tmonth\tyear\n2\t52\t13\t1\t4\t2009\n", want: []triple{one("2", "52")}},
	{name: "duration may be a value", files: "user,item,watch_time\n1,10,3.5\n", err: errAmbiguous, says: []string{"--columns user,item,watch_time", "--columns user,item)"}},
	{name: "tags", files: "userId,movieId,tag,timestamp\n2,60756,funny,1445714994\n", want: []triple{one("2", "60756")}},

	// Order of columns, and words in names.
	{name: "item first", files: "item,user,rating\n10,1,4\n11,2,5\n", want: []triple{{"1", "10", 4}, {"2", "11", 5}}},
	{name: "value first", files: "rating,user_id,movie_id\n4,1,10\n", want: []triple{{"1", "10", 4}}},
	{name: "other case and blanks", files: "Movie ID , User ID , Star Rating\n10,1,4\n", want: []triple{{"1", "10", 4}}},
	{name: "Book-Crossing", files: "\"User-ID\";\"ISBN\";\"Book-Rating\"\n\"276725\";\"034545104X\";\"0\"\n", want: []triple{{"276725", "034545104X", 0}}},
	{name: "Amazon", files: "reviewerID,asin,overall,unixReviewTime\nA2IBPI20UZIR0U,1384719342,5,1393545600\n", want: []triple{{"A2IBPI20UZIR0U", "1384719342", 5}}},
	{name: "online retail", files: "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n536365,85123A,HOLDER,6,12/1/2010 8:26,2.55,17850,United Kingdom\n", want: []triple{{"17850", "85123A", 6}}},
	{name: "Last.fm", files: "userID\tartistID\tweight\n2\t51\t13883\n", want: []triple{{"2", "51", 13883}}},
	{name: "names beside ids", files: "userId,movieId,movieTitle,rating\n1,10,Heat,4\n", want: []triple{{"1", "10", 4}}},
	{name: "title for want of ids", files: "user,title,stars\n1,Heat,4\n", want: []triple{{"1", "Heat", 4}}},
	{name: "the other one", files: "thing,user,rating\n10,1,4\n", want: []triple{{"1", "10", 4}}},
	{name: "edges", files: "target,source,weight\n7,1,2\n", want: []triple{{"1", "7", 2}}},
	{name: "sparse triplets of R", files: "i,j,x\n1,2,0.5\n", want: []triple{{"1", "2", 0.5}}},
	{name: "bag of words", files: "docID,wordID,count\n1,118,1\n", want: []triple{{"1", "118", 1}}},
	{name: "two items, a pair", files: "playlist,track\n1,2\n", want: []triple{one("1", "2")}},
	{name: "two users", files: "user_id,session_id,item_id\n1,a,10\n2,b,11\n", err: errAmbiguous, says: []string{"--columns user_id,item_id", "--columns session_id,item_id"}},
	{name: "two items beside a user", files: "user,artist,track,plays\n1,a,10,3\n", err: errAmbiguous, says: []string{"--columns user,artist,plays", "--columns user,track,plays"}},
	{name: "two values", files: "user,item,rating,count\n1,10,4,2\n", err: errAmbiguous, says: []string{"--columns user,item,rating", "--columns user,item,count"}},
	{name: "unknown number", files: "user,item,age\n1,10,33\n", err: errAmbiguous, says: []string{"--columns user,item,age", "--columns user,item)"}},
	{name: "unknown words", files: "foo,bar,baz\n1,2,3\n", err: errAmbiguous, says: []string{"--columns foo,bar,baz", "--columns foo,bar)"}},
	{name: "unknown words chosen", files: "foo,bar,baz\n1,2,3\n", o: Options{Columns: []string{"foo", "bar", "baz"}}, want: []triple{{"1", "2", 3}}},
	{name: "an unknown word over texts", files: "who,what\nann,x\nbob,y\n", err: errAmbiguous, says: []string{"--header yes", "--header no"}},
	{name: "an unknown word over numbers", files: "who,what\n1,10\n2,11\n", want: []triple{one("1", "10"), one("2", "11")}},
	{name: "one known word", files: "user,what\nann,x\nbob,y\n", err: errAmbiguous},
	{name: "texts that come again", files: "ann,x\nann,y\nbob,x\n", want: []triple{one("ann", "x"), one("ann", "y"), one("bob", "x")}},
	{name: "texts with numbers", files: "u1,i7\nu2,i8\nu3,i9\n", want: []triple{one("u1", "i7"), one("u2", "i8"), one("u3", "i9")}},
	{name: "names of R", files: "V1,V2\na1,b7\nc2,d8\n", err: errAmbiguous},
	{name: "words with counts", files: "user,item,3\nitem,user,2\n", want: []triple{{"item", "user", 2}, {"user", "item", 3}}},
	{name: "words of the header come again", files: "customer,product\ncustomer,service\n", err: errAmbiguous},

	{name: "the same, data", files: "customer,product\ncustomer,service\n", o: Options{Header: format.HeaderNo}, want: []triple{one("customer", "product"), one("customer", "service")}},
	{name: "the same, header", files: "customer,product\ncustomer,service\n", o: Options{Header: format.HeaderYes}, want: []triple{one("customer", "service")}},

	// pandas.
	{name: "index without a name", files: ",user,item,rating\n0,1,10,3.5\n1,2,11,4\n", want: []triple{{"1", "10", 3.5}, {"2", "11", 4}}},
	{name: "Unnamed: 0", files: "Unnamed: 0,user,item,rating\n0,1,10,3.5\n", want: []triple{{"1", "10", 3.5}}},
	{name: "index of a pair", files: ",user,item\n0,a,x\n1,b,y\n", want: []triple{one("a", "x"), one("b", "y")}},
	{name: "numbers of columns", files: "0,1,2\n1,10,3.5\n", err: errAmbiguous, says: []string{"--header yes", "--header no"}},
	{name: "the same, chosen", files: "0,1,2\n1,10,3.5\n", o: Options{Header: format.HeaderYes}, want: []triple{{"1", "10", 3.5}}},
	{name: "the same, data", files: "0,1,2\n1,10,3.5\n", o: Options{Header: format.HeaderNo}, want: []triple{{"0", "1", 2}, {"1", "10", 3.5}}},
	{name: "numbers of columns and index", files: ",0,1,2\n0,1,10,3.5\n", err: errAmbiguous},
	{name: "the same, header chosen", files: ",0,1,2\n0,1,10,3.5\n", o: Options{Header: format.HeaderYes}, err: errAmbiguous, says: []string{"--columns 2,3,4"}},
	{name: "the same, columns chosen", files: ",0,1,2\n0,1,10,3.5\n", o: Options{Header: format.HeaderYes, Columns: []string{"2", "3", "4"}}, want: []triple{{"1", "10", 3.5}}},
	{name: "numbers of two columns", files: "0,1\n5,10\n", err: errAmbiguous},
	{name: "index without header", files: lines(5, func(i int) string { return ofInt(i) + ",7" + ofInt(i*i) + ",10,3" }), err: errAmbiguous, says: []string{"--columns 1,2,3", "--columns 2,3,4"}},
	{name: "index of a pair without header", files: lines(30, func(i int) string { return ofInt(i) + "," + ofInt(i*i%7) + "," + ofInt(100-i) }), err: errAmbiguous, says: []string{"--columns 1,2,3", "--columns 2,3)"}},
	{name: "a diagonal matrix", files: "0,0,1\n1,1,2\n2,2,3\n", want: []triple{{"0", "0", 1}, {"1", "1", 2}, {"2", "2", 3}}},
	{name: "header with numbers", files: "user,item,2019\n1,10,3\n", err: errAmbiguous},

	// Columns without names.
	{name: "a time in the place of the value", files: "1,10,964982703\n2,11,964982704\n", err: errAmbiguous, says: []string{"--columns 1,2,3", "--columns 1,2)"}},
	{name: "a date in the place of the value", files: "1,10,2005-09-06\n2,11,2005-09-07\n", err: errAmbiguous},
	{name: "value and time", files: "1,10,3,964982703\n2,11,4,964982704\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "value and date", files: "ann,x,3,2005-09-06\nbob,y,4,2005-09-07\n", want: []triple{{"ann", "x", 3}, {"bob", "y", 4}}},
	{name: "Taobao", files: "1,2268318,2520377,pv,1511544070\n1,2333346,2520771,pv,1511561733\n", err: errAmbiguous, says: []string{"--columns 1,2,3", "--columns 1,2)"}},
	{name: "a dense matrix", files: "5,3,0,1,2\n4,0,0,1,3\n", err: errAmbiguous},
	{name: "ids like years", files: "1999,2001,3\n2000,2002,4\n", want: []triple{{"1999", "2001", 3}, {"2000", "2002", 4}}},
	{name: "a value that is missing", files: "ann,x,N/A\nbob,y,3\n", err: text.ErrNumber, says: []string{":1:"}},
	{name: "a value that is none", files: "ann,x,good\nbob,y,3\n", err: errAmbiguous},

	{name: "a date first", files: "2020-01-01,1,10\n2020-01-02,2,11\n", err: errAmbiguous, says: []string{"--columns 2,3"}},
	{name: "a time before the value", files: "1,10,964982703,4\n2,11,964982704,5\n", err: errAmbiguous, says: []string{"--columns 1,2,3", "--columns 1,2,4"}},
	{name: "units", files: "item,user,rating (1-5)\n10,1,4\n", want: []triple{{"1", "10", 4}}},
	{name: "an id that counts is no item", files: "id,user,rating\n1,7,4\n2,8,3\n3,9,3\n", err: errAmbiguous},
	{name: "an id that does not count", files: "id,user,rating\n5,7,4\n9,8,3\n", want: []triple{{"7", "5", 4}, {"8", "9", 3}}},

	// Separators.
	{name: "decimal commas", files: "1;10;3,5\n2;11;4,0\n", err: text.ErrNumber, says: []string{"decimal comma"}},
	{name: "decimal commas of a pair", files: "1;3,5\n2;4,0\n", err: errAmbiguous, says: []string{"--sep ','", "--sep ';'"}},
	{name: "quoted decimal comma", files: "user,item,rating\n1,10,\"3,5\"\n", err: text.ErrNumber, says: []string{":2:", "decimal comma"}},
	{name: "commas in names", files: "Doe, J;Heat, 2;4\nRoe, M;Jaws, 1;5\n", want: []triple{{"Doe, J", "Heat, 2", 4}, {"Roe, M", "Jaws, 1", 5}}},
	{name: "separator at the end", files: "1,10,3,\n2,11,4,\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "separator at the end, header", files: "user,item,rating,\n1,10,3,\n", want: []triple{{"1", "10", 3}}},
	{name: "separator changes", files: "1,10,3\n2;11;4\n", err: text.ErrFields, says: []string{":2:"}},
	{name: "separator changes, both fit", files: "1,10\n" + strings.Repeat("2,11\n", 60) + "2;10,5\n", o: Options{Duplicates: Sum}, err: text.ErrJoined, says: []string{":62:"}},
	{name: "parts with own separators", files: "1,10,3\n----\n2;11;4\n----\n3\t12\t5\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}, {"3", "12", 5}}},
	{name: "part cut at another separator", files: "1,10\n----\n2;11,5;3\n", err: text.ErrParts},
	{name: "quoted names between tabs", files: "\"item\"\t\"user\"\n\"x\"\t\"ann\"\n", want: []triple{one("ann", "x")}},
	{name: "quoted names between blanks", files: "\"item\" \"user\" \"rating\"\n10 1 3\n", want: []triple{{"1", "10", 3}}},
	{name: "a sign before a tab is an id", files: "%\t7\t3\n#\t8\t4\n", want: []triple{{"#", "8", 4}, {"%", "7", 3}}},
	{name: "quotes behind backslashes, as Spark has them", files: "3\t3\t\"it\\\"em 3, x\"\t1.5\t4\t5\n4\t4\t\"it\\\"em 4, x\"\t2\t5\t6\n", o: Options{Columns: []string{"1", "3", "6"}}, err: text.ErrQuote},
	{name: "quoted ids between blanks", files: "\"user\" \"item\" \"rating\"\n\"the user\" \"x\" 3\n\"u2\"\t\"a \"\"b\"\"\"  4 \n", want: []triple{{"the user", "x", 3}, {"u2", `a "b"`, 4}}},
	{name: "quotes that end within a word between blanks", files: "\" 12 3\n\"u i\"x 5\n", o: Options{Header: format.HeaderNo}, err: text.ErrQuote},
	{name: "quotes that are bytes between blanks", files: "\" 12 3\nu\" \"i 5\n", o: Options{Header: format.HeaderNo}, want: []triple{{"\"", "12", 3}, {"u\"", "\"i", 5}}},
	{name: "quotes behind backslashes between blanks, as R has them", files: "3 \"say \\\"hi\\\"\" 4\n5 \"or \\\"ho\\\"\" 6\n", o: Options{Columns: []string{"1", "2", "3"}}, err: text.ErrQuote},
	{name: "row names of R", files: "\"user\" \"item\" \"rating\"\n\"1\" 1 10 3.5\n", err: text.ErrFields, says: []string{":2"}},

	// Comments, byte order marks, line ends.
	{name: "names in a comment", files: "# item user rating\n10 1 3\n11 2 4\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "names behind a sign", files: "#user,item,rating\n1,10,3\n", want: []triple{{"1", "10", 3}}},
	{name: "percent comments", files: "% bip weighted\n% 2 2 2\n1 1 3\n2 2 4\n", want: []triple{{"1", "1", 3}, {"2", "2", 4}}},
	{name: "mark and quotes", files: text.BOM + "\"item\",\"user\"\n\"x\",\"ann\"\n", want: []triple{one("ann", "x")}},
	{name: "blank first lines", files: "\n\n \nitem,user\nx,ann\n", want: []triple{one("ann", "x")}},
	{name: "carriage returns alone", files: "1,10\r2,11", err: format.ErrUnsupported, says: []string{"carriage returns"}},
	{name: "carriage returns alone, within lines", files: "1,10,1\n2,11,2\r3,12,1\n", err: format.ErrUnsupported, says: []string{"carriage returns"}},
	{name: "a carriage return in quotes", files: "user,item\nann,x\n\"b\rob\",x\n", want: []triple{one("ann", "x"), one("b\rob", "x")}},
	{name: "a line break in quotes", files: "user,item\nann,x\n\"b\nob\",x\n", err: text.ErrQuote, says: []string{"line break"}},
	{name: "UTF-16 without mark", files: "1\x00,\x002\x00\n\x00", err: format.ErrUnsupported, says: []string{"NUL"}},

	// Concatenated files.
	{name: "header again", files: "user,item,rating\n1,10,3\nuser,item,rating\n2,11,4\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "header again over pairs", files: "user,item\nann,x\nuser,item\nbob,y\n", want: []triple{one("ann", "x"), one("bob", "y")}},
	{name: "header of numbers, also a pair", files: "0,1\n5,6\n0,1\n7,8\n", o: Options{Header: format.HeaderYes}, want: []triple{one("0", "1"), one("5", "6"), one("7", "8")}},
	{name: "header of numbers again over texts", files: "0,1\nann,x\n0,1\nbob,y\n", o: Options{Header: format.HeaderYes}, want: []triple{one("ann", "x"), one("bob", "y")}},
	{name: "header again, integers", files: "user,item\n1,2\nuser,item\n3,4\n", want: []triple{one("1", "2"), one("3", "4")}},
	{name: "header in another order", files: "user,item\nann,x\nitem,user\ny,bob\n", err: text.ErrJoined, says: []string{":3"}},
	{name: "ids that begin as names do", files: "user,item\nu_1,i_2\nu_2,i_3\n", want: []triple{one("u_1", "i_2"), one("u_2", "i_3")}},
	{name: "ids of edges that begin as names do", files: "src,dst\nsrc 1,dst 2\n", want: []triple{one("src 1", "dst 2")}},
	{name: "edges named by two habits", files: "dst,weight,source\nx,2,a\n", want: []triple{{"a", "x", 2}}},
	{name: "ids that may be names", files: "user,item\nu-a,i-b\n", err: text.ErrJoined, says: []string{":2", "--header"}},
	{name: "header behind data", files: "1,10\n2,11\nuser,item\n3,12\n", err: text.ErrJoined, says: []string{":3"}},
	{name: "mark in the middle", files: "1,10,3\n" + text.BOM + "2,11,4\n", err: text.ErrJoined, says: []string{":2"}},
	{name: "parts with headers in other order", files: "user,item,rating\n1,10,3\n----\nrating,item,user\n4,11,2\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "part without header", files: "item,user,rating\n10,1,3\n----\n11,2,4\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "part with one more column", files: "user,item,rating\n1,10,3\n----\nuser,item,rating,time\n2,11,4,7\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "part with other values", files: "user,item,rating\n1,10,3\n----\nuser,item,plays\n2,11,4\n", err: text.ErrParts, says: []string{`"plays"`, `"rating"`}},
	{name: "part with other users", files: "user,item,rating\n1,10,3\n----\nsession,item,rating\n2,11,4\n", err: text.ErrParts},
	{name: "part with a header in another order than one without", files: "1,10,3\n----\nitem,user,rating\n11,2,4\n", err: text.ErrParts, says: []string{"--columns"}},
	{name: "part without values", files: "user,item,rating\n1,10,3\n----\nuser,item\n2,11\n", err: text.ErrParts},
	{name: "part with fewer fields under names that tell nothing", files: "user,item,rating\n1,10,3\n----\na,b\n2,11\n", o: Options{Header: format.HeaderYes}, err: text.ErrParts, says: []string{"2 fields", "has 3"}},
	{name: "the same behind a header in another order", files: "rating,item,user\n3,10,1\n----\na,b\n11,2\n", o: Options{Header: format.HeaderYes}, err: text.ErrParts, says: []string{"2 fields", "has 3"}},
	{name: "dates of eight digits where a part before has values", files: "1,10,3\n----\n2,11,20240131\n", err: text.ErrParts, says: []string{"--columns 1,2,3"}},
	{name: "the same, chosen", files: "1,10,3\n----\n2,11,20240131\n", o: Options{Columns: []string{"1", "2", "3"}}, want: []triple{{"1", "10", 3}, {"2", "11", 20240131}}},
	{name: "eight digits in both parts, chosen by a name", files: "user,item,rating\n1,10,20240130\n----\n2,11,20240131\n", want: []triple{{"1", "10", 20240130}, {"2", "11", 20240131}}},
	{name: "part with other fields", files: "user,item,rating\n1,10,3\n----\n2,11,4,964982704\n", err: text.ErrParts},
	{name: "part of texts", files: "user,item\nann,x\n----\nuser,item\nbob,y\n", want: []triple{one("ann", "x"), one("bob", "y")}},
	{name: "second header of a pair", files: "ann,x\nann,y\n----\nuser,item\nbob,y\n", want: []triple{one("ann", "x"), one("ann", "y"), one("bob", "y")}},

	// Other formats.
	{name: "JSON lines", files: "{\"user\": 1, \"item\": 10, \"rating\": 3}\n{\"user\": 2, \"item\": 11, \"rating\": 4}\n", want: []triple{{"1", "10", 3}, {"2", "11", 4}}},
	{name: "JSON", files: "[\n{\"user\": 1,\n\"item\": 10}]\n", err: format.ErrUnsupported, says: []string{"JSON"}},
	{name: "lists of JSON", files: "[1,10,3]\n[2,11,4]\n", err: format.ErrUnsupported, says: []string{"JSON"}},
	{name: "libffm", files: "1 0:3:0.5\n0 1:2:1\n", err: text.ErrFields, says: []string{"LIBFFM"}},
	{name: "a table of Markdown", files: "| user | item |\n|------|------|\n| ann | x |\n", err: format.ErrUnsupported, says: []string{"table"}},
	{name: "a table of SQL", files: " user | item \n------+------\n ann | x \n", err: format.ErrUnsupported, says: []string{"table"}},
	{name: "one column", files: "128.5\n99.1\n", err: text.ErrFields, says: []string{"no separator"}},
	{name: "a page of HTML", files: "<!DOCTYPE html>\n<html><head>\n", err: format.ErrUnsupported, says: []string{"HTML"}},
	{name: "Harwell–Boeing", files: "1SYMMETRIC STRUCTURE, FULL                                              NOS1    \n             5             1             1             3             0\nRUA                        5             5             8             0\n(16I5)          (16I5)          (5E16.8)            (5E16.8)            \n    1    3    5    7    8    9\n",
		err: format.ErrUnsupported, says: []string{"Harwell–Boeing", "Matrix Market", "scipy.io.hb_read"}},
	{name: "Rutherford–Boeing, comma in the title", files: "HB/ash85, 1970                                                          |85      \n            29             3            16            10\npsa                       85            85           304             0\n(26I3)          (26I3)\n  1 10 18\n",
		err: format.ErrUnsupported, says: []string{"Rutherford–Boeing", "Matrix Market"}},
	{name: "Rutherford–Boeing without a title", files: "\n 6 1 1 4\nrua 3 3 4 0\n(40i2)          (40i2)              (20f4.0)\n 1 3 4 5\n", err: format.ErrUnsupported, says: []string{"Rutherford–Boeing"}},
	{name: "ARFF", files: "@RELATION x\n@ATTRIBUTE a real\n", err: format.ErrUnsupported, says: []string{"ARFF"}},
	{name: "braces in ids", files: "{3F25-0},x,1\n[7],y,2\n", want: []triple{{"[7]", "y", 2}, {"{3F25-0}", "x", 1}}},
	{name: "rows of svmlight with a label of letters", files: "spam 1:0.5 7:1\nham 2:1\n", err: errAmbiguous, says: []string{"--format svmlight", "--format delimited"}},
	{name: "rows of svmlight with an index below 0", files: "1 -1:1\n0 2:1\n", err: errAmbiguous, says: []string{"--format svmlight"}},
	{name: "rows of svmlight with a blank behind the colon", files: "1 1: 0.5\n0 2: 1\n", err: errAmbiguous, says: []string{"--format svmlight"}},
	{name: "rows of svmlight with a value that is no number", files: "1 1:2\n0 2:x\n", err: errAmbiguous, says: []string{"--format svmlight", "--format delimited"}},
	{name: "rows of svmlight that end within a value", files: "1 1:2\n0 2:5\n1 3:", err: errAmbiguous, says: []string{"--format svmlight"}},
	{name: "rows of svmlight that end within an index", files: "1 qid:1 1:2\n0 qid:1 2", err: errAmbiguous, says: []string{"--format svmlight"}},
	{name: "rows of svmlight with an infinite value as R writes it", files: "1 1:Inf\n0 2:3\n", err: format.ErrNotFinite, says: []string{"1:Inf"}},
	{name: "an id with a colon among others", files: "1 2:3\n1 a\n", o: Options{Header: format.HeaderNo}, want: []triple{one("1", "2:3"), one("1", "a")}},
	{name: "pairs of a colon as ids", files: "spam 1:0.5\nham 2:1\n", o: Options{Format: "delimited", Header: format.HeaderNo}, want: []triple{one("ham", "2:1"), one("spam", "1:0.5")}},
	{name: "times of the day", files: "ann x 10:30\nbob y 11:45\n", err: errAmbiguous, says: []string{"--columns 1,2)"}},
	{name: "Matrix Market behind a blank line", files: "\n%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n", err: format.ErrUnsupported, says: []string{"blank lines"}},
	{name: "the separator as Excel is told it", files: "sep=;\nuser;item;rating\n1;2;3\n", err: format.ErrUnsupported, says: []string{"tail -n +2"}},

	// Texts that stand for a missing value.
	{name: "NULL among integers", files: "user,item,rating\n1,2,3\nNULL,2,4\n", err: text.ErrEmptyField, says: []string{`in:3:1: user "NULL"`, "--max-bad-lines"}},
	{name: "nan among integers, without a header", files: "1,2,3\n2,nan,4\n", err: text.ErrEmptyField, says: []string{`in:2:3: item "nan"`}},
	{name: "NULL in a first line", files: "NULL 2\n1 2\n3 2\n", err: text.ErrEmptyField},
	{name: "NULL behind a sample", files: "user,item\n" + lines(99999, func(i int) string { return ofInt(i) + ",7" }) + "None,7\n", err: text.ErrEmptyField},
	{name: "NULL left out", files: "user,item,rating\n1,2,3\nNULL,2,4\n", o: Options{MaxBadLines: 1}, want: []triple{{"1", "2", 3}}},
	{name: "words like null", files: "doc,word,count\n1,nan,2\n1,bread,3\n2,null,1\n", want: []triple{{"1", "bread", 3}, {"1", "nan", 2}, {"2", "null", 1}}},
	{name: "a null of databases among texts", files: "user,item,rating\nann,2,3\n\\N,2,4\n", err: text.ErrEmptyField},
	{name: "a null of pandas among texts", files: "user,item,rating\nann,2,3\n<NA>,2,4\n", err: text.ErrEmptyField},
	{name: "truth values", files: "user,item,liked\n1,2,True\n2,2,false\n", want: []triple{{"1", "2", 1}, {"2", "2", 0}}},
	{name: "a truth value among numbers", files: "user,item,liked\n1,2,3\n2,2,true\n", err: text.ErrNumber},
	{name: "truth values without a name", files: "user,item,clicked\n1,2,True\n2,2,False\n", err: errAmbiguous, says: []string{"--columns user,item,clicked", "--columns user,item)"}},
	{name: "dates of digits alone, JSON", files: `{"user":1,"item":2,"rating":3,"date":20190728}` + "\n" + `{"user":2,"item":2,"rating":4,"date":20190731}` + "\n", o: Options{Filter: Filter{Until: time.Unix(1e9, 0)}}, err: format.ErrTime, says: []string{":1:", `"20190728"`, "eight digits"}},
	{name: "dates of digits, then 0", files: "user,item,rating,date\n" + lines(60, func(i int) string { return ofInt(i) + ",2,3,20190728" }) + "99,2,4,0\n", o: Options{Filter: Filter{Until: time.Unix(1e9, 0)}}, err: format.ErrTime, says: []string{":2:", "eight digits"}},
	{name: "seconds of August 1970", files: "user,item,rating,time\n1,2,3,20190728\n2,2,4,20190732\n", o: Options{Filter: Filter{Until: time.Unix(1e9, 0)}}, want: []triple{{"1", "2", 3}, {"2", "2", 4}}},
	{name: "dates of digits alone", files: "user,item,rating,date\n1,2,3,20190728\n2,2,4,20190731\n", o: Options{Filter: Filter{Since: time.Unix(1, 0)}}, err: format.ErrTime, says: []string{"eight digits"}},
	{name: "a pointer of LFS", files: "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", err: format.ErrUnsupported, says: []string{"git lfs pull"}},
}

func TestIntake(t *testing.T) {
	for _, c := range intakeCases {
		t.Run(c.name, c.run)
	}
}

// run ingests the files of a case and compares entries or error.
func (c intakeCase) run(t *testing.T) {
	var inputs []string
	for text := range strings.SplitSeq(c.files, "----\n") {
		inputs = append(inputs, write(t, "in", text))
	}
	out := target(t)
	_, err := Ingest(t.Context(), inputs, out, c.o)
	if c.err == nil {
		must.Do(t, err)
		if got := contents(t, out); !slices.Equal(got, c.want) {
			t.Errorf("got %v, want %v", got, c.want)
		}
		return
	}
	var ambiguity *format.AmbiguityError
	if errors.As(err, &ambiguity) != (c.err == errAmbiguous) || c.err != errAmbiguous && !errors.Is(err, c.err) || !errors.As(err, new(*format.ParseError)) || strings.Contains(err.Error(), "\n") {
		t.Fatalf("got %v, want %v", err, c.err)
	}
	if ambiguity != nil && len(ambiguity.Readings) < 2 {
		t.Errorf("not two readings: %v", err)
	}
	for _, s := range c.says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%v does not say %s", err, s)
		}
	}
	t.Log(err)
}
