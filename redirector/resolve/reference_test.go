package resolve

import (
	"strconv"
	"strings"

	"github.com/nlnwa/whatwg-url/url"
)

// This file is the draft's pseudocode with the rulings, line by line and without any thought of speed: what Resolve is compared with. It
// shares only the decoding of broken UTF-8 with it.

func referenceResolve(rules map[string]string, raw string) (destination, failure string) {
	request, err := url.Parse(raw)
	if err != nil || request.Scheme() != "http" && request.Scheme() != "https" {
		return "", "invalid request"
	}
	origin := request.Scheme() + "://" + request.Host()
	path, relative, query, hash := request.Pathname(), "", "", ""
	for redirects := 0; redirects < 256; {
		if i := strings.LastIndex(path, "#"); i >= 0 {
			if hash == "" {
				hash = path[i:]
			}
			path = path[:i]
		}
		if i := strings.LastIndex(path, "?"); i >= 0 {
			if query == "" {
				query = path[i:]
			}
			path = path[:i]
		}
		key, value, found := referenceMatch(rules, path)
		if !found {
			return referenceURL(origin, referenceCut(path), relative, referenceCombine("", query, request.Query()),
				referenceFragment(request.Hash(), hash, ""))
		}
		if len(path) > len(key)+1 {
			relative = referenceCut(path[len(key)+1:]) + relative
		}
		if strings.HasPrefix(value, "http") {
			d, err := url.Parse(value)
			if err != nil || d.Scheme() != "http" && d.Scheme() != "https" {
				return "", "invalid destination"
			}
			return referenceURL(d.Scheme()+"://"+d.Host(), d.Pathname(), relative, referenceCombine(d.Query(), query, request.Query()),
				referenceFragment(request.Hash(), hash, d.Hash()))
		}
		if value == "" || value[0] != '/' || len(value) > 1 && (value[1] == '/' || value[1] == '\\') {
			return "", "invalid value"
		}
		path = value
		redirects++
	}
	return "", "too many internal redirects"
}

func referenceMatch(rules map[string]string, path string) (key, value string, found bool) {
	candidate := path[1:]
	for candidate != "" {
		if value, found = rules[candidate]; found {
			return candidate, value, true
		}
		i := strings.LastIndex(candidate, "/")
		if i < 0 {
			break
		}
		candidate = candidate[:i]
	}
	return "", "", false
}

// referenceCut is ruling A10.
func referenceCut(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		return path[:i]
	}
	return path
}

// referenceURL is the assembly with rulings A1, A4, A11 and A12.
func referenceURL(origin, path, relative, query, fragment string) (destination, failure string) {
	plain := strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(relative)
	for _, segment := range strings.Split(plain, "/") {
		if strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") == ".." {
			return "", "path traversal"
		}
	}
	if strings.HasSuffix(path, "/") && strings.HasPrefix(relative, "/") {
		relative = relative[1:]
	}
	u, err := url.Parse(origin + path + relative + "?" + "#") // an own "?", so that spaces at the path's end are not trimmed
	if err != nil {
		return "", err.Error()
	}
	u, err = url.Parse(origin + u.Pathname() + query + fragment)
	if err != nil {
		return "", err.Error()
	}
	return u.Href(false), ""
}

func referenceFragment(requested, embedded, own string) string {
	if requested != "" {
		return requested
	}
	if embedded != "" {
		return embedded
	}
	return own
}

// referenceCombine calls set() for pair after pair.
func referenceCombine(own, embedded, requested string) string {
	list := referencePairs(own)
	for _, query := range []string{strings.TrimPrefix(embedded, "?"), requested} {
		for _, pair := range referencePairs(query) {
			var kept [][2]string
			set := false
			for _, old := range list {
				if old[0] != pair[0] {
					kept = append(kept, old)
				} else if !set {
					kept, set = append(kept, pair), true
				}
			}
			if !set {
				kept = append(kept, pair)
			}
			list = kept
		}
	}
	out := ""
	for _, pair := range list {
		out += "&" + referenceEscape(pair[0]) + "=" + referenceEscape(pair[1])
	}
	return strings.Replace(out, "&", "?", 1)
}

func referencePairs(query string) (list [][2]string) {
	for _, piece := range strings.Split(query, "&") {
		if piece != "" {
			name, value, _ := strings.Cut(piece, "=")
			list = append(list, [2]string{referenceUnescape(name), referenceUnescape(value)})
		}
	}
	return list
}

func referenceUnescape(s string) string {
	s = strings.ReplaceAll(s, "+", " ")
	var b []byte
	for i := 0; i < len(s); i++ {
		if i+2 < len(s) && s[i] == '%' {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(c))
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return decodeUTF8(b)
}

func referenceEscape(s string) string {
	const digits = "0123456789ABCDEF"
	out := ""
	for _, c := range []byte(s) {
		switch {
		case c == ' ':
			out += "+"
		case strings.IndexByte("*-._", c) >= 0, c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
			out += string(c)
		default:
			out += "%" + string(digits[c>>4]) + string(digits[c&15])
		}
	}
	return out
}
