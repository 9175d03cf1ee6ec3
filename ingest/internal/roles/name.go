package roles

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

var (
	roleOfWord = map[string]Role{}
	rankOfWord = map[string]int{} // above 0: the word counts only if there is no better one
)

const (
	plain   = iota
	partial // a word of an order, a group, or a part of a time
	named   // a column of names rather than of ids
)

// never is the rank of names that are Aside whatever the other names are.
const never = partial

func init() {
	for r, list := range words {
		for _, w := range list {
			roleOfWord[w] = r
		}
	}
	for _, w := range parts {
		roleOfWord[w], rankOfWord[w] = Time, partial
	}
	for _, w := range words[Aside] {
		rankOfWord[w] = never
	}
}

type Name struct {
	Role Role
	Word string // the word that determines the role, in the singular: "user" of "userIds"
	rank int    // plain, partial, named
	head string // the first word
}

func (n Name) why() string { return "named " + strconv.Quote(n.Word) }

// ReadAll reads all names of a table. Some names have a meaning only beside others: see pairs.
func ReadAll(names []string) []Name {
	all := make([]Name, len(names))
	for i, s := range names {
		all[i] = Read(s)
	}
	at := func(word string) int {
		return slices.IndexFunc(all, func(n Name) bool {
			return n.Word == word || singular(n.head) == word && n.Role != Value && n.Role != Time
		})
	}
	for _, pair := range pairs {
		if row, col := at(pair[0]), at(pair[1]); row >= 0 && col >= 0 && row != col {
			all[row] = Name{Role: Row, Word: pair[0]}
			all[col] = Name{Role: Col, Word: pair[1]}
			break
		}
	}
	return all
}

// Read returns the role of a column by its name. The last word of the name determines it, apart from words such as id and
// number behind it.
func Read(name string) Name {
	tokens := tokensOf(name)
	if i := strings.IndexAny(name, "(["); i > 0 { // without the unit in brackets
		tokens = tokensOf(name[:i])
	}
	if len(tokens) == 0 {
		return Name{Role: Aside, rank: never}
	}
	if n := len(tokens) - 1; n > 0 && (tokens[n] == "x" || tokens[n] == "y") { // suffixes that pandas gives to columns of joined tables
		tokens = tokens[:n]
	}
	if tokens[0] == "unnamed" || len(tokens) > 1 && tokens[0] == "index" && tokens[1] == "level" { // columns that pandas writes
		return Name{Role: Aside, Word: tokens[0], rank: never}
	}
	if of := slices.Index(tokens, "of"); of > 0 && of < len(tokens)-1 { // "date of review", "number of plays"
		if head := Read(strings.Join(tokens[:of], " ")); head.Role == Time {
			return head
		}
	}
	if n, ok := readTime(tokens); ok {
		return n
	}
	last := singular(tokens[len(tokens)-1])
	n := Name{head: tokens[0], Word: last, Role: roleOfWord[last], rank: rankOfWord[last]}
	if slices.Contains(alsoNames, last) {
		n.rank = named
	}
	if n.Role != None && n.Role != Aside {
		return n
	}
	had := len(tokens)
	for len(tokens) > 1 && slices.Contains(idWords, tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
	}
	isID := len(tokens) < had
	if len(tokens) > 1 && slices.Contains(nameWords, tokens[len(tokens)-1]) {
		tokens = tokens[:len(tokens)-1]
		n.rank = named
	}
	ends := last // the last word before words are cut off
	last = singular(tokens[len(tokens)-1])
	switch r := roleOfWord[last]; {
	case isID && (r == Value && !slices.Contains(counts, ends) || slices.Contains(records, last)): // rating_id, review_id
		return Name{Role: Aside, head: tokens[0], Word: last, rank: never}
	case (isID || n.rank == named) && r != None:
		n.Role, n.Word = r, last
		return n
	}
	// Written together: "userid", "moviename".
	for i, ends := range [][]string{idWords, nameWords} {
		for _, end := range ends {
			stem, ok := strings.CutSuffix(last, end)
			if r := roleOfWord[stem]; ok && (r == Row || r == Col) {
				return Name{Role: r, head: tokens[0], Word: stem, rank: i * named}
			}
		}
	}
	if isID {
		n.Word = last
	}
	if isID || slices.Contains(idWords, last) {
		n.Role = Aside
		switch {
		case slices.Contains(baskets, last):
			n.Role, n.rank = Row, partial
		case slices.Contains(groups, last):
			n.Role, n.rank = Col, partial
		}
	}
	return n
}

func readTime(tokens []string) (Name, bool) {
	unit := false
	for len(tokens) > 1 {
		last := tokens[len(tokens)-1]
		unit = unit || slices.Contains(units, last)
		if !slices.Contains(units, last) && !slices.Contains(zones, last) {
			break
		}
		tokens = tokens[:len(tokens)-1]
	}
	n := Name{Role: Time, head: tokens[0], Word: tokens[len(tokens)-1]}
	last, many := n.Word, len(tokens) > 1
	switch {
	case slices.Contains(tokens, "timestamp"):
		n.Word = "timestamp"
	case last == "at" && many:
		n.Word = tokens[len(tokens)-2]
	case last == "time" && many:
		return n, slices.Contains(eventWords, tokens[len(tokens)-2])
	case last == "time":
		return n, !unit
	case last == "unix", last == "utc":
	case roleOfWord[last] == Time:
		n.rank = rankOfWord[last]
	case many && (tokens[0] == "last" || tokens[0] == "first"):
		return n, slices.Contains(pastWords, last)
	case many && (tokens[0] == "date" || tokens[0] == "datetime"): // "date_added"
		n.Word = tokens[0]
		return n, !slices.Contains(idWords, last)
	case many && tokens[0] == "time": // "time_added"
		n.Word = tokens[0]
		return n, slices.Contains(eventWords, last)
	default:
		return n, false
	}
	return n, true
}

func singular(word string) string {
	if roleOfWord[word] != None {
		return word
	}
	for _, plural := range [][2]string{{"ies", "y"}, {"es", ""}, {"s", ""}} {
		stem, ok := strings.CutSuffix(word, plural[0])
		if !ok || len(stem) < 2 {
			continue
		}
		stem += plural[1]
		paired := slices.ContainsFunc(pairs, func(p [2]string) bool { return p[0] == stem || p[1] == stem })
		if r := roleOfWord[stem]; r != None && r != Time || slices.Contains(baskets, stem) || slices.Contains(groups, stem) || paired {
			return stem
		}
	}
	return word
}

// tokensOf returns the words of a name in lower case: "User-ID", "userId" and "user id" have the same words.
func tokensOf(name string) []string {
	var tokens []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			tokens = append(tokens, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	rs := []rune(strings.ReplaceAll(name, "IDs", "Ids"))
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
