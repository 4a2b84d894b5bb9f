package record

import "sync"

// segment is one file of the spill directory.
type segment struct {
	number    uint64
	inherited bool

	// Guarded by segmentList.mu.
	size   int64  // durable bytes that the reader may see
	hits   uint64 // in them, not yet acknowledged
	sealed bool   // takes no more records
	busy   bool   // a record is being written

	// Of the reader alone.
	read    int64 // acknowledged by the stream, or damaged
	pending int64 // size of the records that next returned
	damaged bool  // holds bytes that could not be read: is set aside, not deleted
}

// segmentList is what the writer and the reader of the spill share, oldest segment first.
type segmentList struct {
	mu   sync.Mutex
	list []*segment
	last uint64 // highest number ever used
}

func (l *segmentList) add(s *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, s)
	l.last = max(l.last, s.number)
}

// takeNumber never returns a number twice, even if no segment came of the first.
func (l *segmentList) takeNumber() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return l.last
}

// claim is the newest segment if it takes another record, and where that goes; nil when a new segment is needed. The reader leaves a
// claimed segment alone until grow or seal.
func (l *segmentList) claim() (s *segment, at int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return nil, 0
	}
	if s = l.list[len(l.list)-1]; s.sealed {
		return nil, 0
	}
	s.busy = true
	return s, s.size
}

func (l *segmentList) oldest() *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return nil
	}
	return l.list[0]
}

func (l *segmentList) drop(s *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) > 0 && l.list[0] == s {
		l.list[0] = nil
		l.list = l.list[1:]
	}
}

func (l *segmentList) sizeOf(s *segment) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.size
}

// grow shows a durable record to the reader, and seals the segment when it is full.
func (l *segmentList) grow(s *segment, bytes int64, hits int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.size += bytes
	s.hits += uint64(hits)
	s.busy = false
	s.sealed = s.sealed || s.size >= segmentBytes
}

func (l *segmentList) seal(s *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.sealed, s.busy = true, false
}

// acknowledge takes hits out of a segment's count and returns how many are left.
func (l *segmentList) acknowledge(s *segment, hits int) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.hits -= uint64(hits)
	return s.hits
}

// finished reports that a segment which was read to its end may be deleted, and seals it: from here on the writer takes a new
// one. It is false when the writer has appended in between, or is doing so.
func (l *segmentList) finished(s *segment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.busy || s.read < s.size {
		return false
	}
	s.sealed = true
	return true
}

func (l *segmentList) bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	for _, s := range l.list {
		n += s.size
	}
	return n
}
