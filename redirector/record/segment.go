package record

import "sync"

// segment is one file of the spill directory.
type segment struct {
	number    uint64
	size      int64 // durable bytes; guarded by segmentList.mu
	sealed    bool  // takes no more records; guarded by segmentList.mu
	inherited bool

	read    int64 // acknowledged by the stream; of the reader alone
	pending int64 // size of the record that next returned; of the reader alone
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

func (l *segmentList) nextNumber() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last + 1
}

func (l *segmentList) newest() *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return nil
	}
	return l.list[len(l.list)-1]
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
		l.list = l.list[1:]
	}
}

func (l *segmentList) sizeOf(s *segment) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return s.size
}

// grow adds durable bytes and seals the segment when it is full.
func (l *segmentList) grow(s *segment, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.size += n
	s.sealed = s.sealed || s.size >= segmentBytes
}

func (l *segmentList) seal(s *segment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.sealed = true
}

// finished reports that a segment which was read to its end may be deleted, and seals it: from here on the writer takes a new
// one. It is false when the writer has appended in between.
func (l *segmentList) finished(s *segment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.read < s.size {
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
