package record

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func openTestSpill(t *testing.T, dir string, max int64) (*spill, uint64) {
	t.Helper()
	s, hits, err := openSpill(dir, max, slog.New(slog.DiscardHandler))
	must(t, err)
	return s, hits
}

// put appends a batch of hits from..to-1.
func put(t *testing.T, s *spill, from, to int) {
	t.Helper()
	must(t, s.append(batchOf(fmt.Sprintf("old-%04d", from), from, to)))
	s.commit()
}

// drainAll reads everything and returns the ids of the hits in order.
func drainAll(t *testing.T, s *spill) (ids []string, batches int) {
	t.Helper()
	for {
		b, err := s.next()
		must(t, err)
		if b == nil {
			return ids, batches
		}
		for i := range b.len() {
			ids = append(ids, string(b.hit(i)[2:18])) // Field 1 of a Hit: tag, length, 16 bytes.
		}
		batches++
		s.advance()
	}
}

func segmentFiles(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	must(t, err)
	slices.Sort(files)
	return files
}

func wantIDs(t *testing.T, got []string, want ...int) {
	t.Helper()
	var ids []string
	for _, n := range want {
		ids = append(ids, string(hit(n).GetId()))
	}
	if !slices.Equal(got, ids) {
		t.Errorf("read %v, want %v", got, ids)
	}
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestSpillIsAQueue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := openTestSpill(t, dir, 1<<30)
	for i := range 600 {
		put(t, s, i, i+1)
	}
	ids, batches := drainAll(t, s)
	wantIDs(t, ids, upTo(600)...)
	if batches != 2 {
		t.Errorf("600 records of one hit each make %d batches, want 2", batches)
	}
	if files := segmentFiles(t, dir, "*"+segmentSuffix+"*"); len(files) != 0 {
		t.Errorf("acknowledged segments are still there: %v", files)
	}
	put(t, s, 600, 602) // And on, in a new segment.
	ids, _ = drainAll(t, s)
	wantIDs(t, ids, 600, 601)
	must(t, s.close())
}

// What append has written is not seen before commit. What was taken over and was never sent by the flusher travels together; what was
// sent goes again alone, under its own message ids.
func TestSpillRecovery(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := openTestSpill(t, dir, 1<<30)
	put(t, s, 0, 20)
	must(t, s.append(batchOf("old-20", 20, 30)))
	if b, err := s.next(); err != nil || b.len() != 20 || b.attempted {
		t.Errorf("next = %v, %v", b, err)
	}
	must(t, s.lock.Close()) // As a crash would.
	s, hits := openTestSpill(t, dir, 1<<30)
	if hits != 30 {
		t.Errorf("%d hits taken over, want 30: the second batch was fsynced", hits)
	}
	b, err := s.next()
	must(t, err)
	if b.attempted || !b.inherited || b.len() != 30 {
		t.Errorf("taken over as %q, %d hits, attempted %v", b.id, b.len(), b.attempted)
	}
	sent := batchOf("old-30", 30, 33)
	sent.attempted = true
	must(t, s.append(sent))
	s.commit()
	ids, batches := drainAll(t, s)
	wantIDs(t, ids, upTo(33)...)
	if batches != 2 {
		t.Errorf("%d batches, want 2: one may be in the stream under its own ids", batches)
	}
	must(t, s.close())
}

func TestSpillDamage(t *testing.T) {
	t.Parallel()
	whole := int64(len(encodeRecord(batchOf("old-0000", 0, 10))))
	for name, c := range map[string]struct {
		damage func(t *testing.T, f *os.File)
		want   []int
		aside  int
	}{
		"torn payload": {func(t *testing.T, f *os.File) { must(t, f.Truncate(3*whole-1)) }, upTo(20), 0},
		"torn header":  {func(t *testing.T, f *os.File) { must(t, f.Truncate(2*whole+5)) }, upTo(20), 0},
		"zeros":        {func(t *testing.T, f *os.File) { must(t, f.Truncate(3*whole+4096)) }, upTo(30), 0},
		"garbage":      {func(t *testing.T, f *os.File) { overwrite(t, f, "\xff\xff\xff\xff", 3*whole) }, upTo(30), 0},
		"last CRC":     {func(t *testing.T, f *os.File) { overwrite(t, f, "\x00\xff\x00\xff", 2*whole+4) }, upTo(20), 0},
		"middle CRC":   {func(t *testing.T, f *os.File) { overwrite(t, f, "\x00\xff\x00\xff", whole+4) }, append(upTo(10), 20, 21, 22, 23, 24, 25, 26, 27, 28, 29), 1},
		"first byte":   {func(t *testing.T, f *os.File) { overwrite(t, f, "\xff", recordHeader+20) }, upTo(30)[10:], 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s, _ := openTestSpill(t, dir, 1<<30)
			for i := range 3 {
				put(t, s, 10*i, 10*i+10)
			}
			must(t, s.close())
			f, err := os.OpenFile(segmentFiles(t, dir, "*"+segmentSuffix)[0], os.O_RDWR, 0)
			must(t, err)
			c.damage(t, f)
			must(t, f.Close())

			s, hits := openTestSpill(t, dir, 1<<30)
			if hits != uint64(len(c.want)) {
				t.Errorf("%d hits counted, want %d", hits, len(c.want))
			}
			ids, _ := drainAll(t, s)
			wantIDs(t, ids, c.want...)
			if n := len(segmentFiles(t, dir, "*"+damagedSuffix)); n != c.aside {
				t.Errorf("%d segments set aside, want %d", n, c.aside)
			}
			if n := len(segmentFiles(t, dir, "*"+segmentSuffix)); n != 0 {
				t.Errorf("%d segments left", n)
			}
			put(t, s, 100, 101)
			ids, _ = drainAll(t, s)
			wantIDs(t, ids, 100)
			must(t, s.close())
		})
	}
}

func overwrite(t *testing.T, f *os.File, data string, at int64) {
	t.Helper()
	_, err := f.WriteAt([]byte(data), at)
	must(t, err)
}

// Hits that cannot be read any more in the life of the instance that wrote them leave the count, so that the ledger stays right.
func TestSpillLoss(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := openTestSpill(t, dir, 1<<30)
	var lost uint64
	s.lost = func(inherited bool, hits uint64) {
		if lost += hits; inherited {
			t.Error("not inherited")
		}
	}
	put(t, s, 0, 10)
	put(t, s, 10, 13)
	f, err := os.OpenFile(segmentFiles(t, dir, "*"+segmentSuffix)[0], os.O_RDWR, 0)
	must(t, err)
	overwrite(t, f, "\x00\xff", 4)
	must(t, f.Close())
	ids, _ := drainAll(t, s)
	wantIDs(t, ids, 10, 11, 12)
	if lost != 10 {
		t.Errorf("%d lost, want 10", lost)
	}
	must(t, s.close())
}

func TestSpillFull(t *testing.T) {
	t.Parallel()
	s, _ := openTestSpill(t, t.TempDir(), 1000)
	for i := 0; ; i++ {
		if err := s.append(batchOf("b", i, i+1)); errors.Is(err, errSpillFull) {
			break
		} else if must(t, err); i > 20 {
			t.Fatal("never full")
		}
		s.commit()
	}
	if _, n := drainAll(t, s); n == 0 {
		t.Error("nothing to drain")
	}
	put(t, s, 0, 1)
	must(t, s.close())
}

func TestSpillIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, _ := openTestSpill(t, dir, 1<<30)
	if _, _, err := openSpill(dir, 1<<30, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "used by another redirector") {
		t.Errorf("second openSpill: %v", err)
	}
	must(t, s.close())
	s, _ = openTestSpill(t, dir, 1<<30)
	must(t, s.close())
}

// Writer and reader at once: the reader deletes segments that it has emptied, and never one that the writer is about to use.
func TestSpillConcurrently(t *testing.T) {
	t.Parallel()
	const n = 2000
	s, _ := openTestSpill(t, t.TempDir(), 1<<30)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			if err := s.append(batchOf("b", i, i+1)); err != nil {
				t.Error(err)
				return
			}
			s.commit()
		}
	})
	var all []string
	for end := time.Now().Add(30 * time.Second); len(all) < n && time.Now().Before(end); {
		ids, _ := drainAll(t, s)
		all = append(all, ids...)
	}
	wg.Wait()
	wantIDs(t, all, upTo(n)...)
	must(t, s.close())
}
