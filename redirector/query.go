package redirector

import (
	"net/url"
	"slices"
	"strings"
)

// stripQuery is a query without the parameters called names; the others stay byte for byte.
func stripQuery(query string, names []string) string {
	if len(names) == 0 || query == "" {
		return query
	}
	kept := make([]string, 0, 8)
	for pair := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if decoded, err := url.QueryUnescape(name); err == nil {
			name = decoded
		}
		if !slices.Contains(names, name) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&")
}
