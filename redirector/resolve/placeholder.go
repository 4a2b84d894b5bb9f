package resolve

import (
	"strings"

	"linkfold/schema/link"
)

// place is the part of a URL that a placeholder stands in; it decides how the text for it is escaped.
type place uint8

const (
	placeForbidden place = iota // scheme, user information or port
	placeHost
	placePath
	placeQuery
	placeFragment
)

// places tells where each of the spots of raw stands.
func places(raw string, spots []link.Placeholder) []place {
	masked := []byte(raw) // without the text of defaults, which may hold any separator
	for _, s := range spots {
		for i := s.Start; i < s.End; i++ {
			masked[i] = 'x'
		}
	}
	text := string(masked)
	b := bounds{}
	if strings.HasPrefix(text, "/") {
		b = internalBounds(text)
	} else {
		b = absoluteBounds(text)
	}
	list := make([]place, len(spots))
	for i, s := range spots {
		list[i] = b.place(s.Start)
	}
	return list
}

// bounds are where the parts of a value begin. What lies before path and outside of the host is forbidden to placeholders.
type bounds struct{ host, hostEnd, path, query, fragment int }

func (b bounds) place(at int) place {
	switch {
	case at >= b.fragment:
		return placeFragment
	case at >= b.query:
		return placeQuery
	case at >= b.path:
		return placePath
	case at >= b.host && at < b.hostEnd:
		return placeHost
	}
	return placeForbidden
}

// internalBounds are those of parseInternal.
func internalBounds(text string) bounds {
	b := bounds{query: len(text), fragment: len(text)}
	if i := strings.LastIndexByte(text, '#'); i >= 0 {
		b.query, b.fragment = i, i
	}
	if i := strings.LastIndexByte(text[:b.fragment], '?'); i >= 0 {
		b.query = i
	}
	return b
}

// absoluteBounds are those that the WHATWG URL parser finds in an http URL: any number of slashes of both kinds before the host.
func absoluteBounds(text string) bounds {
	n := len(text)
	b := bounds{host: n, hostEnd: n, path: n, query: n, fragment: n}
	colon := strings.IndexByte(text, ':')
	if colon < 0 {
		return b
	}
	start := colon + 1 + len(text[colon+1:]) - len(strings.TrimLeft(text[colon+1:], "/\\\t\r\n"))
	end := indexFrom(text, start, `/\?#`)
	b.host = start + strings.LastIndexByte(text[start:end], '@') + 1
	b.hostEnd = end
	if i := strings.LastIndexByte(text[b.host:end], ':'); i >= 0 && !strings.Contains(text[b.host+i:end], "]") {
		b.hostEnd = b.host + i
	}
	b.path = end
	b.query = indexFrom(text, end, "?#")
	b.fragment = indexFrom(text, b.query, "#")
	return b
}

// indexFrom is the place of the first of chars at or behind from, the length of text if there is none.
func indexFrom(text string, from int, chars string) int {
	if i := strings.IndexAny(text[from:], chars); i >= 0 {
		return from + i
	}
	return len(text)
}
