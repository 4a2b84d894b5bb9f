package resolve

import (
	"context"
	"fmt"
	"slices"
)

// FindLoop follows internal values from key, as a request for exactly that key would. It returns the keys of the cycle that this ends in,
// in order and with the first one again at the end (["zig", "zag", "zig"]), or nil when it ends elsewhere. A chain of more than
// DefaultMaxHops different keys is ErrTooManyRedirects; other errors are the Ruleset's.
//
// Looking for a repeated key is enough. A hop replaces the whole path to look up by the matched value's own path, so where the chain goes
// on depends on the key alone, not on how it was reached: the rest of the path, the query and the fragment only pile up for the answer.
// So a key that comes up twice comes up for ever, and since keys are finitely many, a chain without a repeated key ends.
//
// A value with placeholders ends the search, since its path depends on the request; at request time the limit still holds.
func FindLoop(ctx context.Context, rules Ruleset, key string) (loop []string, err error) {
	var keys []string
	for path := "/" + key; len(keys) <= DefaultMaxHops; {
		m, ok, err := rules.Longest(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("look up path: %w", err)
		}
		if !ok || m.Value == nil || m.Value.template != nil || !m.Value.internal {
			return nil, nil
		}
		if i := slices.Index(keys, m.Key); i >= 0 {
			return append(keys[i:], m.Key), nil
		}
		keys = append(keys, m.Key)
		path = m.Value.path
	}
	return nil, ErrTooManyRedirects
}
