package record

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// segmentBytes is where a segment ends and the next begins. Small segments are deleted early, so little is sent twice after a
// crash.
const segmentBytes = 4 << 20

const (
	segmentSuffix = ".spill"
	damagedSuffix = ".damaged" // behind segmentSuffix, for people to look at
)

// errSpillFull means that the directory holds as much as it may.
var errSpillFull = errors.New("spill directory is full")

// spill is a queue of batches on disk: segment files of records, each 4 bytes length, 4 bytes CRC32C of the payload, payload (see
// batch.encode). Records are appended and fsynced by the flusher and read by the drainer, oldest first; a segment is deleted when
// all its batches are acknowledged by the stream. After a crash the torn tail of a segment is ignored: its visitors were never
// answered. A record that is damaged in any other way is stepped over, and its segment is renamed instead of deleted.
//
// append and commit may be called by another goroutine than next and advance: they share only the list of segments.
type spill struct {
	dir  string
	max  int64
	lock *os.File
	log  *slog.Logger

	segments segmentList
	lost     func(inherited bool, hits uint64) // gets what cannot be read any more

	// Of the writer.
	out  *os.File // newest segment; nil when there is none
	open struct { // what append wrote and commit has not shown yet
		segment *segment
		bytes   int64
		hits    int
	}

	// Of the reader.
	in      *os.File // oldest segment
	current *batch   // what next returned and advance has not removed yet
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
	s := &spill{dir: dir, max: max, lock: lock, log: log, lost: func(bool, uint64) {}}
	hits, err := s.takeOver()
	if err != nil {
		return nil, 0, errors.Join(err, lock.Close())
	}
	return s, hits, nil
}

// append makes b durable: when it returns nil, the batch survives a crash of process and machine. The reader does not see it before
// commit.
func (s *spill) append(b *batch) error {
	rec := encodeRecord(b)
	if s.segments.bytes()+int64(len(rec)) > s.max {
		return errSpillFull
	}
	seg, at := s.segments.claim()
	if seg == nil {
		var err error
		if seg, err = s.create(); err != nil {
			return err
		}
	}
	if _, err := s.out.WriteAt(rec, at); err != nil {
		return s.abandon(seg, fmt.Errorf("write spill segment: %w", err))
	}
	if err := s.out.Sync(); err != nil {
		return s.abandon(seg, fmt.Errorf("sync spill segment: %w", err))
	}
	s.open.segment, s.open.bytes, s.open.hits = seg, int64(len(rec)), b.len()
	return nil
}

// commit shows the reader what append has written.
func (s *spill) commit() { s.segments.grow(s.open.segment, s.open.bytes, s.open.hits) }

// create starts a new segment; the directory is synced so that the file's name is durable before the first batch in it is promised.
func (s *spill) create() (*segment, error) {
	s.closeOut()
	seg := &segment{number: s.segments.takeNumber(), busy: true}
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

func (s *spill) path(number uint64) string {
	return filepath.Join(s.dir, fmt.Sprintf("%020d%s", number, segmentSuffix))
}

// close ends the use of the directory. Writer and reader must have stopped.
func (s *spill) close() error {
	s.current = nil
	if _, err := s.next(); err != nil { // Deletes segments that are done.
		s.log.Warn("spill directory not tidied", "err", err)
	}
	s.closeOut()
	s.closeIn()
	return s.lock.Close()
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
