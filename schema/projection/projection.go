// Package projection is the contract between the projector, which writes the Redis view of LINKS, and the redirectors,
// which read it: partitions, keys, value format, and the function that applies events (DESIGN.md §5, PIPELINE.md 3.1).
//
// Keys of generation g, partition p, all in one Redis Cluster slot because of the hash tag:
//
//	{lf:<g>:<p>}:m                     hash, see Meta
//	{lf:<g>:<p>}:l:<domain>/<key>      value of a link
//	{lf:<g>:<p>}:d:<domain>            value of a domain
//	lf:active                          generation that redirectors read when NATS cannot be asked
//
// A value is 8 bytes LINKS sequence, 8 bytes checksum term, both big endian, then the Protobuf state (Link or Domain).
// A deleted aggregate keeps its value as a tombstone, so that ordering survives the deletion.
//
// A reader believes a partition as far as its cursor (MetaCursor) says: every event up to there is in the values. Without a cursor
// the partition is being filled or was lost, and a missing key means nothing.
package projection

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"linkfold/schema/linkfoldv1"
	"linkfold/schema/stream"
)

// Partitions is fixed for ever: the partition of a key is part of its Redis key.
const Partitions = 64

// ActiveKey holds the active generation as a decimal number; a copy of what the LF_PROJECTION bucket decides.
const ActiveKey = "lf:active"

// ActiveEntry is the key in the LF_PROJECTION bucket whose compare-and-set is the switch between generations.
const ActiveEntry = "generations"

// Function is the Redis library with the functions below; load it with FUNCTION LOAD REPLACE on every master.
//
//go:embed function.lua
var Function string

// ApplyFunction applies one batch to one partition, in one of two ways:
//
//	FCALL lf_apply_v1 1+n meta key… life prev last 0    value…
//	FCALL lf_apply_v1 1+n meta key… life prev last goal value…
//
// life is stream.Generation of LINKS. The batch holds every event of the partition in (prev, last]; within it the newer sequence of
// a key wins, whatever the order. With goal 0 prev and last are positions of the partition's cursor.
//
// With a goal the batch is part of a sweep: a reading of only the last event of each subject, which leaves out what was superseded,
// so the partition is not complete anywhere before the goal. prev and last are then positions of that sweep, kept in a field of
// its own, and the cursor becomes goal when last reaches it. Sweeps with different goals do not disturb each other.
//
// It returns {status, n}; see the Status constants. Only OK has written anything.
const ApplyFunction = "lf_apply_v1"

// Answers of ApplyFunction, each with a sequence.
const (
	// StatusOK: applied; the position is now n = last.
	StatusOK = "OK"
	// StatusOld: nothing to do; the position is n >= last. In a sweep n >= goal says that the cursor is at n already.
	StatusOld = "OLD"
	// StatusGap: the position is below prev, so the partition lost events. Read again from the cursor n.
	StatusGap = "GAP"
	// StatusTorn: values are newer than the meta key, so it was lost or restored without them; n and sum can no longer be trusted.
	// The generation must be built anew.
	StatusTorn = "TORN"
	// StatusAlien: the partition belongs to another life of the stream. The generation must be built anew.
	StatusAlien = "ALIEN"
)

// ChecksumBits is the width of a checksum term; Lua numbers count exactly up to 53 bits, and sums are taken modulo 2^48.
const ChecksumBits = 48

const checksumMask = 1<<ChecksumBits - 1

// ErrValue is returned for a value that is not in the format above.
var ErrValue = errors.New("malformed projection value")

// Partition is where an aggregate lives: FNV-32a of domain, "/" and the key's first path segment. So all prefixes of a path
// are in one partition, and one round trip reads all candidates of a request.
func Partition(a stream.Aggregate) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(a.Domain))
	_, _ = h.Write([]byte{'/'})
	if a.Kind == stream.KindLink {
		first, _, _ := strings.Cut(a.Key, "/")
		_, _ = h.Write([]byte(first))
	}
	return int(h.Sum32() % Partitions)
}

// Tag is the hash tag of a partition, without braces.
func tag(gen uint64, p int) string {
	return "lf:" + strconv.FormatUint(gen, 10) + ":" + strconv.Itoa(p)
}

// MetaKey is the hash with a partition's cursor, count and checksum.
func MetaKey(gen uint64, p int) string { return "{" + tag(gen, p) + "}:m" }

// Name identifies an aggregate within Redis and in checksums: kind, ":", domain, and "/" key for a link.
func Name(a stream.Aggregate) string {
	if a.Kind == stream.KindDomain {
		return "d:" + a.Domain
	}
	return "l:" + a.Domain + "/" + a.Key
}

// Key is the Redis key of an aggregate's value in generation gen.
func Key(gen uint64, a stream.Aggregate) string {
	return "{" + tag(gen, Partition(a)) + "}:" + Name(a)
}

// KeyPattern matches all keys of a generation, for SCAN.
func KeyPattern(gen uint64) string { return "{lf:" + strconv.FormatUint(gen, 10) + ":*" }

// KeyOf is the Redis key of the aggregate called name, which lives in partition p.
func KeyOf(gen uint64, p int, name string) string { return "{" + tag(gen, p) + "}:" + name }

// ParseKey takes a Redis key of the projection apart. name is "m" for a partition's meta key; ok is false for keys that are
// not of the projection.
func ParseKey(redisKey string) (gen uint64, p int, name string, ok bool) {
	rest, found := strings.CutPrefix(redisKey, "{lf:")
	place, name, found2 := strings.Cut(rest, "}:")
	g, part, found3 := strings.Cut(place, ":")
	if !found || !found2 || !found3 {
		return 0, 0, "", false
	}
	gen, err := strconv.ParseUint(g, 10, 64)
	p, err2 := strconv.Atoi(part)
	if err != nil || err2 != nil || p < 0 || p >= Partitions {
		return 0, 0, "", false
	}
	return gen, p, name, true
}

// NameOf is the Name in a Redis key made by Key; ok is false for other keys (a partition's meta key among them).
func NameOf(redisKey string) (name string, ok bool) {
	_, name, ok = strings.Cut(redisKey, "}:")
	return name, ok && name != "m" && strings.HasPrefix(redisKey, "{lf:")
}

// Checksum is the 48-bit term of one value: FNV-64a over name, sequence and state, truncated. The sum of all terms of a
// partition modulo 2^48 does not depend on the order in which they were written.
func Checksum(name string, seq uint64, state []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], seq)
	_, _ = h.Write(b[:])
	_, _ = h.Write(state)
	return h.Sum64() & checksumMask
}

// AddChecksum adds a term to a sum.
func AddChecksum(sum, term uint64) uint64 { return (sum + term) & checksumMask }

// FormatChecksum writes a term or a sum as people see it: 12 hexadecimal digits.
func FormatChecksum(sum uint64) string { return fmt.Sprintf("%012x", sum) }

// DomainOf is the domain of the link called name (see Name); ok is false for other names.
func DomainOf(name string) (domain string, ok bool) {
	name, ok = strings.CutPrefix(name, "l:")
	if !ok {
		return "", false
	}
	domain, _, ok = strings.Cut(name, "/")
	return domain, ok
}

// Value encodes what is stored for an aggregate after the event with sequence seq.
func Value(a stream.Aggregate, seq uint64, ev *linkfoldv1.Event) ([]byte, error) {
	var state proto.Message
	switch s := ev.GetState().(type) {
	case *linkfoldv1.Event_Link:
		state = s.Link
	case *linkfoldv1.Event_Domain:
		state = s.Domain
	default:
		return nil, fmt.Errorf("event %d of %s carries no state: %w", seq, Name(a), ErrValue)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(make([]byte, 16), state)
	if err != nil {
		return nil, fmt.Errorf("encode state of %s: %w", Name(a), err)
	}
	binary.BigEndian.PutUint64(b, seq)
	binary.BigEndian.PutUint64(b[8:], Checksum(Name(a), seq, b[16:]))
	return b, nil
}

// Split takes a value apart without checking the checksum term against the state.
func Split(value []byte) (seq, checksum uint64, state []byte, err error) {
	if len(value) < 16 {
		return 0, 0, nil, fmt.Errorf("value of %d bytes: %w", len(value), ErrValue)
	}
	return binary.BigEndian.Uint64(value), binary.BigEndian.Uint64(value[8:]), value[16:], nil
}
