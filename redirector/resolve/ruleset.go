package resolve

import (
	"context"
	"iter"
	"strings"
)

// Ruleset finds links by path. Implementations must be safe for concurrent use if Resolve is called concurrently.
type Ruleset interface {
	// Longest returns the link of the first of Candidates(path) that there is one for; ok is false if there is none. Keys are compared
	// byte for byte with path, which begins with "/". Any error ends the resolution and is returned to its caller.
	Longest(ctx context.Context, path string) (m Match, ok bool, err error)
}

// Match is a link that a path led to.
type Match struct {
	Key      string // as many bytes as it matched of the path behind its first "/"
	Value    *Value
	Locked   bool   // the link keeps its own query: a request can neither add to it nor override it, nor set the fragment
	Revision uint64 // for the caller: which version of the link answered; not looked at
}

// Candidates are the keys that may answer path, which begins with "/": all of it behind that slash, then shorter at each "/" ("docs/"
// before "docs"), never the empty key (A14).
func Candidates(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if path == "" {
			return
		}
		for key := path[1:]; key != ""; {
			if !yield(key) {
				return
			}
			i := strings.LastIndexByte(key, '/')
			if i < 0 {
				return
			}
			key = key[:i]
		}
	}
}

// Map is a Ruleset in memory: values by key.
type Map map[string]*Value

// Longest implements Ruleset.
func (m Map) Longest(_ context.Context, path string) (Match, bool, error) {
	for key := range Candidates(path) {
		if v, ok := m[key]; ok {
			return Match{Key: key, Value: v}, true, nil
		}
	}
	return Match{}, false, nil
}
