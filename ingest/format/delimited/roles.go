package delimited

import (
	"slices"
	"strings"
	"unicode"
)

// A role is what a column of delimited text holds, as far as its name tells.
type role uint8

const (
	noRole    role = iota // the name tells nothing
	userRole              // ids of rows
	itemRole              // ids of columns
	valueRole             // numbers of the matrix
	timeRole              // a date or a time: never a value
	asideRole             // a running number or an id of something else: never a value
)

// words are the names of columns that files of the trade have, in lower case.
var words = map[role][]string{
	userRole: {
		"user", "users", "uid", "usr", "customer", "customers", "cust", "client", "buyer", "shopper", "member", "visitor", "guest",
		"viewer", "listener", "reader", "reviewer", "rater", "voter", "critic", "session", "account", "acct", "person", "people", "patient", "player",
		"subscriber", "household", "consumer", "profile", "login", "email", "student", "employee", "cookie", "passenger", "tourist",
	},
	itemRole: {
		"item", "items", "iid", "movie", "movies", "mid", "film", "show", "series", "product", "products", "prod", "pid", "article", "track",
		"tracks", "song", "songs", "artist", "artists", "album", "book", "books", "isbn", "sku", "asin", "upc", "ean", "gtin", "game", "app",
		"video", "restaurant", "business", "venue", "poi", "place", "recipe", "joke", "hotel", "page", "anime", "manga", "course", "news",
		"podcast", "episode", "playlist", "beer", "wine", "repo", "repository", "stock", "stockcode", "ad", "offer", "title", "merchandise",
	},
	valueRole: {
		"rating", "ratings", "rate", "score", "scores", "stars", "star", "value", "values", "val", "weight", "weights", "plays", "play", "played",
		"playcount", "count", "counts", "cnt", "quantity", "qty", "amount", "frequency", "freq", "listens", "listened", "clicks", "click",
		"views", "purchases", "purchase", "votes", "vote", "points", "grade", "strength", "interactions", "interaction", "overall", "preference",
		"pref", "affinity", "confidence", "like", "likes", "liked", "feedback", "label", "visits", "occurrences", "tfidf", "r", "x", "v", "w", "n",
	},
	timeRole: {
		"timestamp", "timestamps", "tstamp", "date", "datetime", "ts", "day", "month", "year", "hour", "minute", "weekday", "epoch", "when", "created", "updated",
	},
	asideRole: {"unnamed", "rownames", "rowname", "rowid", "rownum", "rownumber", "lineno", "index", "idx"},
}

// pairs are names of which the first is a row if the second is there, a column.
var pairs = [][2]string{
	{"row", "col"}, {"row", "column"}, {"rows", "cols"}, {"rows", "columns"}, {"i", "j"}, {"u", "i"}, {"u", "v"}, {"s", "t"},
	{"source", "target"}, {"src", "dst"}, {"source", "destination"}, {"from", "to"}, {"head", "tail"},
	{"follower", "followee"}, {"follower", "followed"}, {"doc", "word"}, {"doc", "term"}, {"document", "word"}, {"document", "term"},
	{"document", "token"}, {"doc", "token"}, {"user1", "user2"}, {"node1", "node2"}, {"id1", "id2"}, {"item1", "item2"},
}

// idWords end the name of a column of ids; nameWords that of a column of names, which ids go before.
var (
	idWords   = []string{"id", "ids", "no", "nr", "num", "number", "code", "key", "idx", "index", "hash", "sha", "sha1", "md5", "uuid", "guid", "mbid", "gid", "sk", "pk"}
	nameWords = []string{"name", "names", "title", "titles", "nickname", "handle"}
	alsoNames = []string{"title", "login", "email"}
	// eventWords before "time" make it the time of something; other times are durations.
	eventWords = []string{
		"event", "review", "rating", "rate", "rated", "unix", "create", "created", "creation", "update", "updated", "click", "order", "purchase",
		"invoice", "transaction", "start", "end", "begin", "log", "request", "local", "utc", "server", "visit", "access", "added", "date",
	}
)

var roleOfWord = func() map[string]role {
	m := map[string]role{}
	for r, list := range words {
		for _, w := range list {
			m[w] = r
		}
	}
	return m
}()

// A columnName is what the name of a column says.
type columnName struct {
	role        role
	named       bool   // a column of names ("movie_title") rather than of ids
	first, word string // the first word, and the one that counts: "user" of "userId"
}

// readName tells the role of a column by its name: of its words the last one
// counts, behind which id, number and the like may stand.
func readName(name string) columnName {
	tokens := nameTokens(name)
	if i := strings.IndexAny(name, "(["); i > 0 { // a unit
		tokens = nameTokens(name[:i])
	}
	if len(tokens) == 0 {
		return columnName{role: asideRole}
	}
	last := tokens[len(tokens)-1]
	c := columnName{first: tokens[0], word: last, role: roleOfWord[last], named: slices.Contains(alsoNames, last)}
	switch {
	case last == "at" && len(tokens) > 1, slices.Contains(tokens, "timestamp"):
		c.role = timeRole
		return c
	case last == "time":
		if len(tokens) == 1 || slices.Contains(eventWords, tokens[len(tokens)-2]) {
			c.role = timeRole
		}
		return c
	case c.role != noRole && c.role != asideRole:
		return c
	}
	had := len(tokens)
	for len(tokens) > 1 && slices.Contains(idWords, tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	isID := len(tokens) < had
	if len(tokens) > 1 && slices.Contains(nameWords, tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
		c.named = true
	}
	last = tokens[len(tokens)-1]
	if r := roleOfWord[last]; (isID || c.named) && r != noRole {
		c.role, c.word = r, last
		return c
	}
	// Written together: "userid", "moviename".
	for i, ends := range [][]string{idWords, nameWords} {
		for _, end := range ends {
			stem, ok := strings.CutSuffix(last, end)
			if r := roleOfWord[stem]; ok && (r == userRole || r == itemRole) {
				return columnName{role: r, first: tokens[0], word: stem, named: i == 1}
			}
		}
	}
	if isID {
		c.word = last
	}
	if c.role == noRole && (isID || slices.Contains(idWords, last)) {
		c.role = asideRole
	}
	return c
}

// nameTokens cuts a name into its words, in lower case: "User-ID", "userId" and
// "user id" are the same.
func nameTokens(name string) []string {
	var tokens []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			tokens = append(tokens, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	rs := []rune(name)
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsUpper(rs[i-1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return tokens
}
