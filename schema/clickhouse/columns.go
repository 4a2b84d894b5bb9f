package clickhouse

import "github.com/google/uuid"

// Rows is a growing block of rows of one table, kept column by column, because that is how the server wants them: one
// append per column and block instead of one per value. The slices are reused after Truncate(0). Not safe for
// concurrent use.
type Rows interface {
	// Table is the table the rows are for.
	Table() string
	// Len is the number of rows.
	Len() int
	// Truncate keeps the first n rows. After a panic in the middle of an append it makes the columns equally long again.
	Truncate(n int)

	columns() []column
}

// column is a named slice of a block. values hands out a slice type that clickhouse-go appends without reflection
// wherever there is one.
type column struct {
	name string
	data interface {
		values() any
		truncate(n int)
	}
}

type col[T any] []T

func (c *col[T]) add(v T)     { *c = append(*c, v) }
func (c *col[T]) values() any { return []T(*c) }

// truncate clears what it drops, so that a reused block does not keep the strings of an old batch alive.
func (c *col[T]) truncate(n int) {
	if n < len(*c) {
		clear((*c)[n:])
		*c = (*c)[:n]
	}
}

// seqs is the sequence column every table with provenance has; embedding it gives a block its length.
type seqs struct{ seq col[uint64] }

// Len is the number of rows.
func (s *seqs) Len() int { return len(s.seq) }

// Seqs are the stream sequences of the rows, in the order of the rows. The slice is the block's own.
func (s *seqs) Seqs() []uint64 { return s.seq }

func truncate(columns []column, n int) {
	for _, c := range columns {
		c.data.truncate(n)
	}
}

// uuidOf is the id as a UUID; an id of another length is the zero UUID.
func uuidOf(b []byte) (u uuid.UUID) {
	if len(b) == len(u) {
		copy(u[:], b)
	}
	return u
}

// ipv6Of is an address of 4 or 16 bytes as IPv6, IPv4 mapped; anything else is "::".
func ipv6Of(b []byte) (a [16]byte) {
	switch len(b) {
	case 4:
		a[10], a[11] = 0xff, 0xff
		copy(a[12:], b)
	case 16:
		copy(a[:], b)
	}
	return a
}
