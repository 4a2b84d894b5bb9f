package record

import (
	"errors"
	"fmt"
	"os"
)

// next reads the oldest batches without removing them, the same until advance is called; nil when there are none. Small ones are
// joined. Segments that are read to their end are deleted.
func (s *spill) next() (*batch, error) {
	if s.current != nil {
		return s.current, nil
	}
	for {
		seg := s.segments.oldest()
		if seg == nil {
			return nil, nil
		}
		size := s.segments.sizeOf(seg)
		if seg.read < size {
			if err := s.openIn(seg); err != nil {
				return nil, err
			}
			if s.current = s.gather(seg, size); s.current != nil {
				return s.current, nil
			}
		}
		if !s.segments.finished(seg) {
			return nil, nil
		}
		if err := s.remove(seg); err != nil {
			return nil, err
		}
	}
}

// gather reads batches of a segment from where the last ended, as many as can travel together; nil when the rest is damaged.
func (s *spill) gather(seg *segment, size int64) *batch {
	var out *batch
	for at := seg.read; at < size; {
		b, n, err := readRecord(s.in, at)
		if err != nil && out != nil {
			break // Stepped over when what stands before it is acknowledged.
		}
		if err != nil {
			if n == 0 {
				n = size - at // Nobody knows where the next record begins.
			}
			s.log.Error("damaged spill record stepped over", "segment", s.in.Name(), "at", at, "bytes", n, "err", err)
			at += n
			seg.damaged, seg.read = true, at
			continue
		}
		b.inherited = seg.inherited
		if out == nil {
			out = b
		} else if !out.joins(b) {
			break
		} else {
			out.join(b)
		}
		at += n
		seg.pending = at - seg.read
	}
	return out
}

// advance forgets the batch that next returned; call it when the stream has acknowledged it.
func (s *spill) advance() {
	seg := s.segments.oldest()
	seg.read += seg.pending
	seg.pending = 0
	s.segments.acknowledge(seg, s.current.len())
	s.current = nil
}

func (s *spill) openIn(seg *segment) error {
	if s.in != nil {
		return nil
	}
	f, err := os.Open(s.path(seg.number))
	if err != nil {
		return fmt.Errorf("open spill segment: %w", err)
	}
	s.in = f
	return nil
}

// remove deletes a segment that was read to its end. A damaged one is renamed, and its hits that could not be read are reported lost.
func (s *spill) remove(seg *segment) error {
	s.closeIn()
	path := s.path(seg.number)
	if seg.damaged {
		if err := os.Rename(path, path+damagedSuffix); err != nil {
			return fmt.Errorf("set spill segment aside: %w", err)
		}
		s.lost(seg.inherited, s.segments.acknowledge(seg, 0))
	} else if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove spill segment: %w", err)
	}
	s.segments.drop(seg)
	return nil
}

func (s *spill) closeIn() {
	if s.in != nil {
		_ = s.in.Close() // Only read.
		s.in = nil
	}
}
