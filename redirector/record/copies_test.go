package record

import (
	"testing"
	"time"

	"linkfold/schema/stream"
)

// Whichever copy of a batch comes first, the stream keeps one: all of them carry the same message ids.
func TestCopiesAreRefused(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	p, err := newPublisher(e.js.Conn(), stream.HitSubject(0))
	must(t, err)
	defer p.close()
	for i, n := range []int{1, looseHits, looseHits + 1, batchHits} {
		b := batchOf("copies-"+string(rune('a'+i)), 0, n)
		before := len(e.stored())
		for _, resent := range []bool{true, false, true} { // The re-send overtakes the original.
			must(t, p.publish(t.Context(), b, 10*time.Second, resent))
		}
		if got := len(e.stored()) - before; got != n {
			t.Errorf("%d hits sent three times are %d messages", n, got)
		}
	}
}
