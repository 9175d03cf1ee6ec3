package roles

// words are the common names of columns by role, in lower case and in the singular, unless the plural has another meaning.
var words = map[Role][]string{
	Row: {
		"user", "uid", "usr", "customer", "cust", "client", "buyer", "shopper", "member", "visitor", "guest", "viewer", "listener",
		"reader", "reviewer", "rater", "voter", "critic", "session", "account", "acct", "person", "people", "patient", "player",
		"subscriber", "household", "consumer", "profile", "login", "email", "student", "employee", "cookie", "passenger", "tourist",
		"borrower", "patron", "gamer", "learner", "donor", "investor", "msno", "cell",
	},
	Col: {
		"item", "iid", "movie", "mid", "film", "show", "series", "product", "prod", "pid", "article", "track", "song", "artist",
		"album", "book", "isbn", "sku", "asin", "upc", "ean", "gtin", "game", "app", "video", "restaurant", "business", "venue", "poi",
		"place", "recipe", "joke", "hotel", "page", "anime", "manga", "course", "news", "podcast", "episode", "playlist", "beer",
		"wine", "repo", "repository", "stock", "stockcode", "ad", "offer", "title", "merchandise", "gene", "feature", "url",
	},
	Value: {
		"rating", "rate", "score", "star", "value", "val", "weight", "play", "played", "playcount", "count", "cnt", "quantity", "qty",
		"amount", "frequency", "freq", "listen", "listened", "click", "view", "purchase", "vote", "point", "grade", "strength",
		"interaction", "overall", "preference", "pref", "affinity", "confidence", "like", "liked", "feedback", "label", "visit",
		"occurrence", "tfidf", "r", "x", "v", "w", "n",
	},
	Time: {
		"timestamp", "timestamps", "tstamp", "date", "dates", "datetime", "datetimes", "ts", "dt", "dttm", "epoch", "when", "created",
		"updated", "modified",
	},
	Aside: {"unnamed", "rownames", "rowname", "rowid", "rownum", "rownumber", "lineno", "index", "idx"},
}

var (
	// parts are names of times that do not determine a moment by themselves. Their plurals are durations.
	parts = []string{"day", "month", "year", "hour", "minute", "weekday", "week", "quarter"}
	// baskets are rows if no better column is there: "order_id".
	baskets = []string{"order", "basket", "cart", "invoice", "transaction", "receipt", "ticket"}
	// records before "id" make the column the id of an entry, which is neither row nor column.
	records = []string{"review", "record", "log", "line", "entry"}
	// groups are columns if no better column is there: "category_id".
	groups = []string{"category", "brand", "genre", "tag", "subreddit", "topic"}
)

// pairs are names of which the first is a row and the second a column if both are there.
var pairs = [][2]string{
	{"row", "col"}, {"row", "column"}, {"i", "j"}, {"u", "i"}, {"u", "v"}, {"s", "t"},
	{"source", "target"}, {"src", "dst"}, {"source", "destination"}, {"source", "dst"}, {"src", "target"}, {"src", "destination"},
	{"from", "to"}, {"from", "target"}, {"from", "destination"}, {"head", "tail"}, {"follower", "followee"}, {"follower", "followed"}, {"doc", "word"}, {"doc", "term"}, {"document", "word"}, {"document", "term"},
	{"document", "token"}, {"doc", "token"}, {"user1", "user2"}, {"node1", "node2"}, {"id1", "id2"}, {"item1", "item2"},
}

var (
	// idWords end the name of a column of ids; those in counts, behind a word of values, leave it a value: "play_num".
	idWords = []string{"id", "ids", "no", "nr", "num", "number", "code", "key", "idx", "index", "hash", "sha", "sha1", "md5", "uuid", "guid", "mbid", "mboid", "gid", "uri", "sk", "pk"}
	counts  = []string{"no", "nr", "nb", "num", "number", "count", "total", "sum"}
	// nameWords end the name of a column of names; columns of ids take precedence over these.
	nameWords = []string{"name", "names", "title", "titles", "nickname", "handle"}
	alsoNames = []string{"title", "login", "email", "url"}
	// eventWords before "time" make the column the time of an event; other times are durations.
	eventWords = []string{
		"event", "review", "rating", "rate", "rated", "unix", "create", "created", "creation", "update", "updated", "click", "order", "purchase",
		"invoice", "transaction", "start", "end", "begin", "log", "request", "local", "utc", "server", "visit", "access", "added", "date",
	}
	// zones and units end the name of a time without changing its meaning; a unit behind "time" makes it a duration.
	zones = []string{"utc", "gmt", "iso", "unix", "local"}
	units = []string{"ms", "us", "ns", "s", "sec", "secs", "seconds", "millis", "micros", "nanos"}
	// pastWords behind "last" or "first" make the column the time of an event.
	pastWords = []string{
		"played", "seen", "viewed", "visited", "watched", "listened", "clicked", "modified", "updated", "login", "visit", "access", "purchase",
		"order", "activity", "active", "play", "click", "event", "purchased", "read", "used",
	}
)
