package projection

import (
	"fmt"
	"strconv"
)

// Fields of a partition's meta key. Beside them there is one field "s:<goal>" per sweep that was begun.
const (
	MetaLife     = "life" // stream.Generation of the LINKS stream that the partition is a fold of
	MetaCursor   = "cur"  // every event up to this sequence is in the values
	MetaTop      = "top"  // no value is newer than this sequence or the cursor, whichever is higher
	MetaCount    = "n"    // number of values, tombstones included
	MetaChecksum = "sum"  // sum of their checksum terms modulo 2^48
)

// Meta is what a partition says of itself. The zero value is a partition that does not exist.
type Meta struct {
	Life                         string
	Cursor, Top, Count, Checksum uint64
}

// MetaFields are the fields that ParseMeta wants, in its order.
func MetaFields() []string {
	return []string{MetaLife, MetaCursor, MetaTop, MetaCount, MetaChecksum}
}

// ParseMeta reads the answer to HMGET of MetaFields; absent fields are nil. The error wraps ErrValue.
func ParseMeta(fields []any) (Meta, error) {
	var m Meta
	if len(fields) != len(MetaFields()) {
		return m, fmt.Errorf("meta of %d fields: %w", len(fields), ErrValue)
	}
	m.Life, _ = fields[0].(string)
	for i, target := range []*uint64{&m.Cursor, &m.Top, &m.Count, &m.Checksum} {
		s, ok := fields[i+1].(string)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return m, fmt.Errorf("meta field %s = %q: %w", MetaFields()[i+1], s, ErrValue)
		}
		*target = n
	}
	return m, nil
}

// Settled reports whether the values are exactly those of the cursor: not ahead of it because a sweep is under way.
func (m Meta) Settled() bool { return m.Cursor >= m.Top }
