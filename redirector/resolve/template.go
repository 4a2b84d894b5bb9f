package resolve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"linkfold/schema/link"
)

// template is a value with placeholders, taken apart. Filling it in means what writing the escaped texts into the value would mean; the
// pieces only save parsing the result.
type template struct {
	raw    string
	spots  []link.Placeholder
	places []place
	err    error
	pieces *pieces // nil when the text has to be parsed each time
}

// pieces are the parts of a destination around its placeholders, serialized: one more than placeholders in each part.
type pieces struct {
	origin                 string
	path, search, fragment []string
}

func newTemplate(raw string, spots []link.Placeholder) *template {
	t := &template{raw: raw, spots: spots, places: places(raw, spots)}
	if t.err = t.checkPlaces(); t.err != nil {
		return t
	}
	marker := unusedMarker(raw)
	text, _ := t.write(slices.Repeat([]string{marker}, len(spots)))
	sample := parseLiteral(text)
	t.err = sample.err
	if t.err == nil && !sample.internal {
		t.pieces = t.split(sample, marker)
	}
	return t
}

// checkPlaces refuses placeholders where no text could be right, and host names that their own default breaks.
func (t *template) checkPlaces() error {
	if !strings.HasPrefix(t.raw, "http") && !strings.HasPrefix(t.raw, "/") {
		return parseLiteral(t.raw).err
	}
	for i, s := range t.spots {
		switch {
		case t.places[i] == placeForbidden:
			return fmt.Errorf("%w: {%s} stands in the scheme, the user information or the port", ErrInvalidDestination, s.Name)
		case t.places[i] == placeHost && s.Default != "" && !isLabel(s.Default):
			return fmt.Errorf("%w: the default of {%s} is no label of a host name", ErrInvalidDestination, s.Name)
		}
	}
	return nil
}

// split cuts a sample that was parsed with a marker for every placeholder. It gives up when placeholders do not stand where they should
// (a ".." may remove one), when the host depends on them, or when trimming spaces could.
func (t *template) split(sample *Value, marker string) *pieces {
	var count [placeFragment + 1]int
	for _, p := range t.places {
		count[p]++
	}
	p := &pieces{
		origin: sample.origin, path: strings.Split(sample.path, marker),
		search: strings.Split(sample.search, marker), fragment: strings.Split(sample.fragment, marker),
	}
	blank := strings.ContainsFunc(t.raw, func(r rune) bool { return r <= ' ' })
	if blank || count[placeHost] > 0 || len(p.path)-1 != count[placePath] || len(p.search)-1 != count[placeQuery] ||
		len(p.fragment)-1 != count[placeFragment] {
		return nil
	}
	return p
}

// unusedMarker is a text that is not in raw and that no part of a URL changes.
func unusedMarker(raw string) string {
	lower := strings.ToLower(raw)
	for i := 0; ; i++ {
		if marker := "zqz" + strconv.Itoa(i) + "zqz"; !strings.Contains(lower, marker) {
			return marker
		}
	}
}

// expand fills the placeholders in. A value without any, or without any that variables knows, is returned as it is.
func (v *Value) expand(variables func(string) (string, bool)) (*Value, error) {
	if v.template == nil || variables == nil {
		return v, nil
	}
	t := v.template
	var space [8]filling
	texts, active := t.fill(space[:0], variables)
	switch {
	case !active:
		return v, nil
	case t.err != nil:
		return nil, t.err
	}
	for i, f := range texts {
		if t.places[i] == placeHost && f.active && !isLabel(f.text) {
			return nil, fmt.Errorf("%w: the text for {%s} is no label of a host name", ErrInvalidDestination, t.spots[i].Name)
		}
	}
	if t.pieces != nil {
		return t.join(texts)
	}
	return t.reparse(texts)
}

// filling is the text for one placeholder; an inactive one stays as it is.
type filling struct {
	text   string
	active bool
}

func (t *template) fill(list []filling, variables func(string) (string, bool)) (texts []filling, active bool) {
	for _, s := range t.spots {
		text, declared := variables(s.Name)
		if text == "" || !declared {
			text = s.Default
		}
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "\uFFFD")
		}
		f := filling{text: text, active: declared || s.HasDefault}
		active = active || f.active
		list = append(list, f)
	}
	return list, active
}

// reparse writes the texts into the value and takes that apart.
func (t *template) reparse(texts []filling) (*Value, error) {
	escaped := make([]string, len(texts))
	for i, f := range texts {
		if escaped[i] = t.raw[t.spots[i].Start:t.spots[i].End]; f.active {
			escaped[i] = string(appendFor(nil, t.places[i], f.text))
		}
	}
	raw, starts := t.write(escaped)
	for i, start := range starts {
		if t.places[i] == placePath && texts[i].active && dots(dropped.Replace(segmentAt(raw, start))) > 0 {
			return nil, ErrPathTraversal
		}
	}
	v := parseLiteral(raw)
	return v, v.err
}

// write is the value with texts for its placeholders, and where each text begins.
func (t *template) write(texts []string) (raw string, starts []int) {
	var b strings.Builder
	at := 0
	for i, s := range t.spots {
		b.WriteString(t.raw[at:s.Start])
		starts = append(starts, b.Len())
		b.WriteString(texts[i])
		at = s.End
	}
	b.WriteString(t.raw[at:])
	return b.String(), starts
}

// segmentAt is the path segment around a place in a value.
func segmentAt(raw string, at int) string {
	const separators = `/\?#`
	start := strings.LastIndexAny(raw[:at], separators) + 1
	return raw[start:indexFrom(raw, at, separators)]
}

// join puts the texts between the pieces. These hold no dot segments, so one that is there now came out of a text.
func (t *template) join(texts []filling) (*Value, error) {
	p := t.pieces
	v := &Value{raw: t.raw, origin: p.origin, path: t.fit(p.path, placePath, texts)}
	for segment := range strings.SplitSeq(v.path, "/") {
		if dots(segment) > 0 {
			return nil, ErrPathTraversal
		}
	}
	v.search, v.fragment = t.fit(p.search, placeQuery, texts), t.fit(p.fragment, placeFragment, texts)
	if v.search == "?" {
		v.search = ""
	}
	if v.fragment == "#" {
		v.fragment = ""
	}
	v.params = parseParams(strings.TrimPrefix(v.search, "?"))
	v.finish(string(appendParams(nil, v.params)))
	return v, nil
}

// fit puts the texts of one place between its pieces.
func (t *template) fit(pieces []string, where place, texts []filling) string {
	if len(pieces) == 1 {
		return pieces[0]
	}
	var space [256]byte
	b := append(space[:0], pieces[0]...)
	pieces = pieces[1:]
	for i, f := range texts {
		switch {
		case t.places[i] != where:
			continue
		case f.active:
			b = appendFor(b, where, f.text)
		case where == placePath: // braces are encoded in paths alone
			b = append(append(append(b, "%7B"...), t.spots[i].Name...), "%7D"...)
		default:
			b = append(b, t.raw[t.spots[i].Start:t.spots[i].End]...)
		}
		b = append(b, pieces[0]...)
		pieces = pieces[1:]
	}
	return string(b)
}

// unreserved are the characters that mean themselves anywhere in a URL.
var unreserved = byteSet(alphanumeric + "-._~")

// appendFor escapes a text for the part of a URL that it goes into, so that it cannot leave that part or its segment.
func appendFor(b []byte, where place, text string) []byte {
	switch where {
	case placeHost:
		return append(b, text...)
	case placeQuery:
		return appendForm(b, text)
	}
	for i := range len(text) {
		if c := text[i]; unreserved[c] {
			b = append(b, c)
		} else {
			b = appendEscaped(b, c)
		}
	}
	return b
}

// isLabel reports one label of a host name: 1 to 63 letters, digits and hyphens.
func isLabel(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '-' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != "" && len(s) <= 63
}
