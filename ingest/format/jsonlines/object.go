package jsonlines

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

func each(l []byte, visit func(key []byte, v value)) error {
	var any json.RawMessage
	if err := json.Unmarshal(l, &any); err != nil {
		return fmt.Errorf("%w: %w", ErrSyntax, err)
	}
	d := json.NewDecoder(bytes.NewReader(l))
	if first, err := d.Token(); err != nil || first != json.Delim('{') {
		return ErrSyntax
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSyntax, err)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("%w: %w", ErrSyntax, err)
		}
		name, _ := key.(string)
		visit([]byte(name), valueOf(raw, int(d.InputOffset())-len(raw)))
	}
	return nil
}

func valueOf(raw []byte, at int) value {
	v := value{text: raw, at: at}
	switch raw[0] {
	case '"':
		v.kind = str
		var s string
		err := json.Unmarshal(raw, &s)
		// Unmarshal replaces invalid Unicode by replacement characters.
		v.bad = err != nil || strings.Count(s, "\uFFFD") > bytes.Count(raw, []byte("\uFFFD"))+strings.Count(strings.ToLower(string(raw)), `\ufffd`)
		v.text = []byte(s)
	case '{', '[':
		v.kind = nested
	case 'n':
		v.kind = null
	case 't', 'f':
		v.kind = boolean
	default:
		v.kind = number
	}
	return v
}

// flat reads an object without nested values and escapes, the common case. It returns false if the line is not of this form;
// then got is undefined.
func (p *reader) flat(l []byte, got *[maxKeys]value) bool {
	i := blanks(l, 0)
	if i == len(l) || l[i] != '{' {
		return false
	}
	for i = blanks(l, i+1); i < len(l) && l[i] == '"'; i = blanks(l, i+1) {
		end := closing(l, i+1)
		if end < 0 {
			return false
		}
		key := l[i+1 : end]
		i = blanks(l, end+1)
		if i == len(l) || l[i] != ':' {
			return false
		}
		i = blanks(l, i+1)
		if i == len(l) {
			return false
		}
		v := value{at: i}
		switch c := l[i]; {
		case c == '"':
			end = closing(l, i+1)
			if end < 0 {
				return false
			}
			v.kind, v.text = str, l[i+1:end]
			end++
		case c == '-' || c >= '0' && c <= '9':
			end = numberEnd(l, i)
			if end < 0 {
				return false
			}
			v.kind, v.text = number, l[i:end]
		default:
			for end = i; end < len(l) && l[end]-'a' < 26; end++ {
			}
			if !json.Valid(l[i:end]) {
				return false
			}
			v = valueOf(l[i:end], i)
		}
		p.take(got, key, v)
		i = blanks(l, end)
		if i == len(l) {
			return false
		}
		switch l[i] {
		case '}':
			return blanks(l, i+1) == len(l)
		case ',':
			if next := blanks(l, i+1); next == len(l) || l[next] != '"' {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// blanks returns the index of the first byte from i on that is not JSON white space.
func blanks(l []byte, i int) int {
	for i < len(l) && (l[i] == ' ' || l[i] == '\t' || l[i] == '\r') {
		i++
	}
	return i
}

// closing returns the index of the quote that ends a string, or −1 if the string has escapes or bytes that are not allowed.
func closing(l []byte, i int) int {
	for ; i < len(l); i++ {
		switch c := l[i]; {
		case c == '"':
			return i
		case c == '\\' || c < ' ':
			return -1
		}
	}
	return -1
}

// numberEnd returns the index after a JSON number, or −1.
func numberEnd(l []byte, i int) int {
	digits := func() bool {
		from := i
		for i < len(l) && l[i]-'0' <= 9 {
			i++
		}
		return i > from
	}
	if l[i] == '-' {
		i++
	}
	if i < len(l) && l[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(l) && l[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(l) && l[i]|0x20 == 'e' {
		i++
		if i < len(l) && (l[i] == '+' || l[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}
