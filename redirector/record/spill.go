package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// segmentBytes is where a segment ends and the next begins. Small segments are deleted early, so little is sent twice after a
// crash.
const segmentBytes = 4 << 20

const (
	segmentSuffix = ".spill"
	recordHeader  = 8 // length and CRC32C, 4 bytes each, little endian
	maxRecord     = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errSpillFull means that the directory holds as much as it may.
var errSpillFull = errors.New("spill directory is full")

// spill is a queue of batches on disk: segment files of records, each 4 bytes length, 4 bytes CRC32C of the payload, payload (see
// batch.encode). Records are appended and fsynced by the flusher and read by the drainer, oldest first; a segment is deleted when
// all its batches are acknowledged by the stream. After a crash the torn tail of a segment is ignored: its visitors were never answered.
//
// append and next/advance may be called by different goroutines: they share only the list of segments, under segments.
type spill struct {
	dir  string
	max  int64
	lock *os.File
	log  *slog.Logger

	segments segmentList
	out      *os.File // newest segment, append only; nil when there is none
	in       *os.File // oldest segment, being read
	current  *batch   // what next returned and advance has not removed yet
}

// openSpill locks dir, creating it when needed, and counts the hits that earlier instances left in it. They are all read as
// attempted and inherited: nobody knows any more whether they were sent.
func openSpill(dir string, max int64, log *slog.Logger) (*spill, uint64, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, 0, fmt.Errorf("create spill directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open spill lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("spill directory %s is used by another redirector: give each its own: %w", dir, err), lock.Close())
	}
	s := &spill{dir: dir, max: max, lock: lock, log: log}
	hits, err := s.takeOver()
	if err != nil {
		return nil, 0, errors.Join(err, lock.Close())
	}
	return s, hits, nil
}

// takeOver lists the segments of earlier instances and counts their hits.
func (s *spill) takeOver() (hits uint64, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, fmt.Errorf("read spill directory: %w", err)
	}
	var numbers []uint64
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), segmentSuffix); ok {
			if n, err := strconv.ParseUint(name, 10, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		size, count, err := s.scan(n)
		if err != nil {
			return 0, err
		}
		s.segments.add(&segment{number: n, size: size, sealed: true, inherited: true})
		hits += count
	}
	return hits, nil
}

// scan returns how many bytes of a segment are whole records, and how many hits they hold.
func (s *spill) scan(number uint64) (size int64, hits uint64, err error) {
	f, err := os.Open(s.path(number))
	if err != nil {
		return 0, 0, fmt.Errorf("open spill segment: %w", err)
	}
	defer f.Close()
	for {
		b, n, err := readRecord(f, size)
		if errors.Is(err, io.EOF) {
			return size, hits, nil
		}
		if err != nil {
			s.log.Warn("spill segment ends in a torn record, which nobody was promised", "segment", f.Name(), "at", size, "err", err)
			return size, hits, nil
		}
		size += n
		hits += uint64(b.len())
	}
}

// append makes b durable: when it returns nil, the batch survives a crash of process and machine.
func (s *spill) append(b *batch) error {
	payload := b.encode()
	rec := make([]byte, recordHeader, recordHeader+len(payload))
	binary.LittleEndian.PutUint32(rec, uint32(len(payload)))
	binary.LittleEndian.PutUint32(rec[4:], crc32.Checksum(payload, castagnoli))
	rec = append(rec, payload...)
	if s.segments.bytes()+int64(len(rec)) > s.max {
		return errSpillFull
	}
	seg := s.segments.newest()
	if seg == nil || seg.sealed || s.out == nil {
		var err error
		if seg, err = s.create(); err != nil {
			return err
		}
	}
	if _, err := s.out.WriteAt(rec, s.segments.sizeOf(seg)); err != nil {
		return s.abandon(seg, fmt.Errorf("write spill segment: %w", err))
	}
	if err := s.out.Sync(); err != nil {
		return s.abandon(seg, fmt.Errorf("sync spill segment: %w", err))
	}
	s.segments.grow(seg, int64(len(rec)))
	return nil
}

// create starts a new segment; the directory is synced so that the file's name is durable before the first batch in it is promised.
func (s *spill) create() (*segment, error) {
	s.closeOut()
	seg := &segment{number: s.segments.nextNumber()}
	f, err := os.OpenFile(s.path(seg.number), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create spill segment: %w", err)
	}
	if err := syncDir(s.dir); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.out = f
	s.segments.add(seg)
	return seg, nil
}

// abandon seals a segment after a failed write: what an fsync error left behind is unknown, so nothing more goes there.
func (s *spill) abandon(seg *segment, err error) error {
	s.segments.seal(seg)
	s.closeOut()
	return err
}

func (s *spill) closeOut() {
	if s.out != nil {
		_ = s.out.Close() // Its content is synced; a close error changes nothing.
		s.out = nil
	}
}

// next reads the oldest batch without removing it, the same one until advance is called; nil when there is none. Segments that are
// read to their end are deleted.
func (s *spill) next() (*batch, error) {
	if s.current != nil {
		return s.current, nil
	}
	for {
		seg := s.segments.oldest()
		if seg == nil {
			return nil, nil
		}
		if seg.read == s.segments.sizeOf(seg) {
			if !s.segments.finished(seg) {
				return nil, nil
			}
			if err := s.remove(seg); err != nil {
				return nil, err
			}
			continue
		}
		if s.in == nil {
			f, err := os.Open(s.path(seg.number))
			if err != nil {
				return nil, fmt.Errorf("open spill segment: %w", err)
			}
			s.in = f
		}
		b, n, err := readRecord(s.in, seg.read)
		if err != nil {
			return nil, fmt.Errorf("read spill segment %s at %d: %w", s.in.Name(), seg.read, err)
		}
		seg.pending = n
		b.inherited = seg.inherited
		b.attempted = b.attempted || seg.inherited
		s.current = b
		return b, nil
	}
}

// advance forgets the batch that next returned; call it when the stream has acknowledged it.
func (s *spill) advance() {
	seg := s.segments.oldest()
	seg.read += seg.pending
	seg.pending = 0
	s.current = nil
}

func (s *spill) remove(seg *segment) error {
	if s.in != nil {
		_ = s.in.Close()
		s.in = nil
	}
	if err := os.Remove(s.path(seg.number)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove spill segment: %w", err)
	}
	s.segments.drop(seg)
	return nil
}

func (s *spill) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%020d%s", number, segmentSuffix))
}

// close ends the use of the directory. Both goroutines must have stopped.
func (s *spill) close() error {
	if _, err := s.next(); err != nil { // Deletes segments that are done.
		s.log.Warn("spill directory not tidied", "err", err)
	}
	s.closeOut()
	if s.in != nil {
		_ = s.in.Close()
	}
	return s.lock.Close()
}

// readRecord reads the record at offset; io.EOF at the exact end of the file, another error for a torn or damaged record.
func readRecord(f *os.File, offset int64) (*batch, int64, error) {
	var head [recordHeader]byte
	if _, err := f.ReadAt(head[:], offset); err != nil {
		if st, serr := f.Stat(); serr == nil && st.Size() == offset {
			return nil, 0, io.EOF
		}
		return nil, 0, fmt.Errorf("read record header: %w", errors.Join(errBatch, unexpected(err)))
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxRecord {
		return nil, 0, fmt.Errorf("record of %d bytes: %w", n, errBatch)
	}
	payload := make([]byte, n)
	if _, err := f.ReadAt(payload, offset+recordHeader); err != nil {
		return nil, 0, fmt.Errorf("read record: %w", unexpected(err))
	}
	if crc32.Checksum(payload, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, 0, fmt.Errorf("checksum does not match: %w", errBatch)
	}
	b, err := decodeBatch(payload)
	return b, recordHeader + int64(n), err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open spill directory: %w", err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync spill directory: %w", err)
	}
	return nil
}
