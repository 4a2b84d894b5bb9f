package redirector

import (
	"strings"

	"linkfold/redirector/rules"
)

// stripQuery is a query without the parameters called names. The others stay as they are, but for bytes that may not stand in a header.
func stripQuery(query string, names []string) string {
	gone := newNames(names)
	return filterQuery(query, func(name string) bool { return !gone[name] })
}

// keepQuery is a query with the parameters called names alone, of each the first.
func keepQuery(query string, names []string) string {
	wanted := newNames(names)
	return filterQuery(query, func(name string) bool {
		first := wanted[name]
		delete(wanted, name)
		return first
	})
}

// stripUnknown is a query without what its website does not know. A name that is also known was repeated: the first one counts and stays.
func stripUnknown(query string, unknown, known []string) string {
	gone, first := newNames(unknown), newNames(known)
	return filterQuery(query, func(name string) bool {
		keep := !gone[name] || first[name]
		delete(first, name)
		return keep
	})
}

// newNames is a set: a visitor's query may hold thousands of names.
func newNames(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, name := range list {
		set[name] = true
	}
	return set
}

func filterQuery(query string, keep func(name string) bool) string {
	if query == "" {
		return query
	}
	kept := make([]string, 0, 8)
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" || keep(rules.ParameterName(pair)) {
			kept = append(kept, pair)
		}
	}
	return printableQuery(strings.Join(kept, "&"))
}

// printableQuery percent-encodes what the WHATWG URL standard encodes in a query.
func printableQuery(query string) string {
	encode := func(c byte) bool {
		return c <= ' ' || c >= 0x7f || c == '"' || c == '#' || c == '<' || c == '>' || c == '\''
	}
	clean := true
	for i := range len(query) {
		clean = clean && !encode(query[i])
	}
	if clean {
		return query
	}
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; encode(c) {
			const hex = "0123456789ABCDEF"
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
