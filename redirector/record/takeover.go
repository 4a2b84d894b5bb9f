package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// takeOver lists the segments of earlier instances and counts their hits.
func (s *spill) takeOver() (hits uint64, err error) {
	numbers, err := s.listSegments()
	if err != nil {
		return 0, err
	}
	for _, n := range numbers {
		seg, err := s.scan(n)
		if err != nil {
			return 0, err
		}
		s.segments.add(seg)
		hits += seg.hits
	}
	return hits, nil
}

// listSegments returns the numbers of the segments, oldest first. Numbers of segments that were set aside are not used again.
func (s *spill) listSegments() (numbers []uint64, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("read spill directory: %w", err)
	}
	for _, e := range entries {
		name, damaged := strings.CutSuffix(e.Name(), damagedSuffix)
		number, ok := strings.CutSuffix(name, segmentSuffix)
		n, err := strconv.ParseUint(number, 10, 64)
		if !ok || err != nil {
			continue
		}
		s.segments.last = max(s.segments.last, n)
		if !damaged {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// scan finds out how many bytes of a segment can be read, and how many hits they hold.
func (s *spill) scan(number uint64) (*segment, error) {
	f, err := os.Open(s.path(number))
	if err != nil {
		return nil, fmt.Errorf("open spill segment: %w", err)
	}
	defer f.Close()
	seg := &segment{number: number, sealed: true, inherited: true}
	for at := int64(0); ; {
		b, n, err := readRecord(f, at)
		if errors.Is(err, io.EOF) {
			return seg, nil
		}
		if err != nil && n == 0 {
			s.log.Warn("spill segment ends in a torn record, which nobody was promised", "segment", f.Name(), "at", at, "err", err)
			return seg, nil
		}
		at += n
		if err != nil {
			s.log.Warn("spill segment holds a damaged record", "segment", f.Name(), "at", at-n, "err", err)
		} else {
			// What is damaged before this record counts as part of the segment: the reader steps over it.
			seg.size, seg.hits = at, seg.hits+uint64(b.len())
		}
	}
}
