package rules

import "strings"

// carrier is the place at which a canonical URL carries a flag: the official one if there is one and it can express the value, else the best
// place where the URL has it; nil for none. A value that the official place does not take (a language that only ?lang= knows) stays where it is.
func (m *Match) carrier(all []held, name string) (at *held, value string) {
	value, _ = m.Options.Get(name)
	for i := range all {
		if all[i].name == name && all[i].official && (at == nil || all[i].rank < at.rank) {
			at = &all[i]
		}
	}
	if at != nil {
		if _, ok := m.express(at, value); ok {
			return at, value
		}
	}
	return winner(all, name), value
}

// write gives the text of a variable at its own place in the canonical URL, separators included; "" when it does not stand there. Groups stay
// as they are, websites become their second string if their expression takes it, flags stand where they are carried and where they are
// required.
func (m *Match) write(all []held, h *held) string {
	switch {
	case h.group():
		return h.found.raw
	case h.website():
		if text, ok := m.express(h, h.second); ok {
			return text
		}
		return h.found.raw
	}
	at, value := m.carrier(all, h.name)
	carries := at != nil && at.variable == h.variable
	if !carries && !h.required {
		return ""
	}
	if h.found.ok && h.found.value == value {
		return h.found.raw
	}
	if text, ok := m.express(h, value); ok {
		return text
	}
	return h.found.raw
}

// express writes a value as the variable's place would have it, if its expression takes that.
func (m *Match) express(h *held, value string) (string, bool) {
	switch {
	case value == "":
		return "", false
	case h.place == inSubdomain:
		return m.expressHost(h, value)
	case h.place == inQuery:
		return value, h.accepts(value)
	case h.place == inExtension:
		return value, !strings.ContainsAny(value, "./") && pathText(value) && h.acceptsExtension(value)
	}
	return value, pathText(value) && (h.accepts(value) || h.accepts(value+"/"))
}

func (m *Match) expressHost(h *held, value string) (string, bool) {
	switch {
	case !hostText(value):
		return "", false
	case h.accepts(value + "."):
		return value + ".", true
	case !h.accepts(value):
		return "", false
	case m.domain.lenient:
		return value + ".", true
	}
	return value, true
}

// hostText tells whether a text can be part of a host name.
func hostText(s string) bool {
	for i := range len(s) {
		if !alphanumeric(s[i]) && strings.IndexByte("-_.", s[i]) < 0 {
			return false
		}
	}
	return !strings.HasPrefix(s, ".") && !strings.Contains(s, "..")
}

// pathText tells whether a text can be put into a path and is the same there: no byte that would be escaped, no segment that would be resolved.
func pathText(s string) bool {
	if escapePath(s) != s || strings.HasPrefix(s, "/") {
		return false
	}
	for segment := range strings.SplitSeq(s, "/") {
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case ".", "..":
			return false
		}
	}
	return true
}

// writeRest is the rest of the path with the extensions that stay extensions.
func (m *Match) writeRest(all []held) string {
	rest := m.Rest
	for i := range all {
		h := &all[i]
		if h.place != inExtension {
			continue
		}
		text := m.write(all, h)
		switch {
		case text == "":
		case h.found.ok:
			rest = m.whole // with all extensions; a match of it takes them off again
		default:
			rest = withExtension(rest, text)
		}
	}
	return rest
}

// withExtension appends an extension to the last segment; a directory's is that of its own page.
func withExtension(rest, extension string) string {
	if rest == "" || strings.HasSuffix(rest, "/") {
		rest += "index.html"
	}
	return rest + "." + extension
}

// officialQuery are the query's variables in the order of the script.
func (m *Match) officialQuery(all []held) []pair {
	var pairs []pair
	for i := range all {
		if all[i].place != inQuery {
			continue
		}
		if value := m.write(all, &all[i]); value != "" || all[i].group() && all[i].found.ok {
			pairs = append(pairs, pair{m.rule.query.names[i-len(m.domain.found)], value})
		}
	}
	return pairs
}
