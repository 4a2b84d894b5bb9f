package link

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nlnwa/whatwg-url/url"
)

// NormalizeDestination checks a link's destination and returns it in WHATWG serialization, which holds no spaces, control characters or
// non-ASCII bytes. It is an absolute http or https URL, or a path that begins with one "/" and is resolved again on the same domain
// (shortlink-resolution-draft.txt, "Ruleset"). What could never resolve is refused (RULINGS A5 to A11). Placeholders stay as they are
// written. The error wraps ErrInvalid.
func NormalizeDestination(raw string) (string, error) {
	switch {
	case raw == "":
		return "", Invalid("destination is empty: give an absolute http or https URL, or a path such as /other-key")
	case len(raw) > MaxDestination:
		return "", Invalid("destination has %d bytes: at most %d are allowed", len(raw), MaxDestination)
	case !utf8.ValidString(raw):
		return "", Invalid("destination is not valid UTF-8: percent-encode other bytes")
	}
	masked, unmask := maskPlaceholders(raw)
	normalize := normalizeURL
	if raw[0] == '/' {
		normalize = normalizePath
	}
	out, err := normalize(raw, masked)
	if err != nil {
		return "", err
	}
	if out = unmask(out); len(out) > MaxDestination {
		return "", Invalid("destination has %d bytes once encoded: at most %d are allowed", len(out), MaxDestination)
	}
	return out, nil
}

// normalizeURL serializes an absolute destination. Shown in errors is raw, as the author wrote it.
func normalizeURL(raw, masked string) (string, error) {
	if scheme, _, ok := strings.Cut(raw, ":"); ok && scheme != strings.ToLower(scheme) && strings.HasPrefix(strings.ToLower(scheme), "http") {
		return "", Invalid("destination %q: write the scheme in lower case", clip(raw))
	}
	u, err := url.Parse(masked)
	if err != nil {
		return "", Invalid("destination %q is no absolute URL: give one such as https://example.com/page, or a path of the domain such as /other-key", clip(raw))
	}
	switch p := u.Protocol(); {
	case p != "http:" && p != "https:":
		return "", Invalid("destination scheme %q is not allowed: use http or https", strings.TrimSuffix(p, ":"))
	case !strings.HasPrefix(raw, "http"):
		return "", Invalid("destination %q does not begin with http: leave out what stands before it", clip(raw))
	case masked != raw && (u.Username() != "" || u.Password() != ""):
		return "", Invalid("destination %q has a user name and placeholders: leave one of them out", clip(raw))
	}
	return u.Href(false), nil
}

// normalizePath serializes a destination on the same domain.
func normalizePath(raw, masked string) (string, error) {
	path, fragment, _ := strings.Cut(masked, "#")
	path, query, _ := strings.Cut(path, "?")
	switch {
	case strings.HasPrefix(raw, "//"), strings.HasPrefix(raw, `/\`):
		return "", Invalid("destination %q would leave the domain: begin a path with one slash, or give an absolute URL", clip(raw))
	case !printable(raw), strings.Contains(path, `\`):
		return "", Invalid("destination %q holds control characters or backslashes, which no path can hold", clip(raw))
	case strings.Contains(query, "?"), strings.Contains(fragment, "#"):
		return "", Invalid("destination %q has more than one %q or %q: keep one, percent-encode the others", clip(raw), "?", "#")
	case hasDotSegment(path):
		return "", Invalid(`destination %q holds a "." or ".." segment: write the path without it`, clip(raw))
	}
	const origin = "http://h"
	u, err := url.Parse(origin + masked)
	if err != nil || u.Hostname() != "h" {
		return "", Invalid("destination %q cannot be a path", clip(raw))
	}
	return strings.TrimPrefix(u.Href(false), origin), nil
}

// maskPlaceholders replaces placeholders by names that serialization leaves alone wherever they stand; unmask puts them back.
func maskPlaceholders(raw string) (masked string, unmask func(string) string) {
	placeholders := Placeholders(raw)
	if len(placeholders) == 0 {
		return raw, func(s string) string { return s }
	}
	stem := "lfv"
	for strings.Contains(strings.ToLower(raw), stem) {
		stem += "x"
	}
	var b strings.Builder
	pairs := make([]string, 0, 2*len(placeholders))
	end := 0
	for i, v := range placeholders {
		mask := stem + strconv.Itoa(i) + "q"
		b.WriteString(raw[end:v.Start])
		b.WriteString(mask)
		pairs = append(pairs, mask, raw[v.Start:v.End])
		end = v.End
	}
	b.WriteString(raw[end:])
	return b.String(), strings.NewReplacer(pairs...).Replace
}
