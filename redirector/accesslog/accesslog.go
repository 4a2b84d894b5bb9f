// Package accesslog writes one line per request in the format of the 0x1F outline (seed "Logging", RULINGS D0):
//
//	yyyymmddhhmmss.s ip trackid user-agent path CODE[ url]
//
// Time is UTC with tenths of a second. A missing value is "-". The user agent is URL-encoded; in a path, and in any other field that
// a client controls, bytes that could break the line (spaces, control characters, quotes, non-ASCII) are percent-encoded. The url is
// written for OK only.
package accesslog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"
	"time"

	"linkfold/schema/linkfoldv1"
)

// Code is the outcome of a request in the log. OK, NF and IA are the outline's; the others stand for answers that it does not name.
func Code(o linkfoldv1.Outcome) string {
	switch o {
	case linkfoldv1.Outcome_OUTCOME_REDIRECTED:
		return "OK"
	case linkfoldv1.Outcome_OUTCOME_NOT_FOUND, linkfoldv1.Outcome_OUTCOME_UNKNOWN_DOMAIN, linkfoldv1.Outcome_OUTCOME_UNKNOWN_WEBSITE,
		linkfoldv1.Outcome_OUTCOME_UNKNOWN_QUERY, linkfoldv1.Outcome_OUTCOME_UNRESOLVABLE:
		return "NF"
	case linkfoldv1.Outcome_OUTCOME_INACTIVE:
		return "IA"
	case linkfoldv1.Outcome_OUTCOME_CANONICAL:
		return "CA"
	case linkfoldv1.Outcome_OUTCOME_NOT_IMPLEMENTED:
		return "NI"
	case linkfoldv1.Outcome_OUTCOME_RATE_LIMITED:
		return "RL"
	case linkfoldv1.Outcome_OUTCOME_BAD_REQUEST:
		return "BR"
	case linkfoldv1.Outcome_OUTCOME_UNAVAILABLE:
		return "UN"
	}
	return "-"
}

// Line is one request.
type Line struct {
	Time       time.Time
	Client     netip.Addr // zero: not logged
	TrackingID string
	UserAgent  string
	Path       string
	Outcome    linkfoldv1.Outcome
	URL        string
}

// Append appends the line, with its newline, to b.
func (l *Line) Append(b []byte) []byte {
	b = l.Time.UTC().AppendFormat(b, "20060102150405.0")
	b = append(b, ' ')
	if l.Client.IsValid() {
		b = l.Client.WithZone("").AppendTo(b) // A zone may be any text.
	} else {
		b = append(b, '-')
	}
	b = appendField(append(b, ' '), l.TrackingID, isVisible)
	b = appendField(append(b, ' '), l.UserAgent, isUnreserved)
	b = appendField(append(b, ' '), l.Path, isVisible)
	b = append(b, ' ')
	b = append(b, Code(l.Outcome)...)
	if l.Outcome == linkfoldv1.Outcome_OUTCOME_REDIRECTED {
		b = appendField(append(b, ' '), l.URL, isVisible)
	}
	return append(b, '\n')
}

const upperHex = "0123456789ABCDEF"

func appendField(b []byte, s string, plain func(byte) bool) []byte {
	if s == "" {
		return append(b, '-')
	}
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return b
}

func isVisible(c byte) bool { return c > ' ' && c < 0x7f && c != '"' }

// isUnreserved is what encodeURIComponent leaves alone.
func isUnreserved(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	switch c {
	case '-', '_', '.', '!', '~', '*', '\'', '(', ')':
		return true
	}
	return false
}

// Log writes lines through a buffer that Run empties every second. It is safe for concurrent use. A nil Log takes lines and forgets
// them.
type Log struct {
	mu  sync.Mutex
	dst io.Writer
	w   *bufio.Writer
	out io.Closer // nil for standard output
	buf []byte
	err error // of the last write, until Run has reported it
}

// Open opens the log at path for appending; "-" is standard output, and "" no log at all.
func Open(path string) (*Log, error) {
	switch path {
	case "":
		return nil, nil
	case "-":
		return New(os.Stdout), nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("open access log: %w", err)
	}
	l := New(f)
	l.out = f
	return l, nil
}

// New writes to w.
func New(w io.Writer) *Log { return &Log{dst: w, w: bufio.NewWriterSize(w, 64<<10)} }

// Write logs one request.
func (l *Log) Write(line *Line) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = line.Append(l.buf[:0])
	if _, err := l.w.Write(l.buf); err != nil {
		l.err = err
	}
}

// Flush writes out what is buffered. After an error it starts over: the lines of that second are lost, later ones are not.
func (l *Log) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := errors.Join(l.err, l.w.Flush())
	l.err = nil
	if err != nil {
		l.w.Reset(l.dst)
		return fmt.Errorf("write access log: %w", err)
	}
	return nil
}

// Run flushes every second until ctx ends, then once more, and closes the file. Report gets each failure to write.
func (l *Log) Run(ctx context.Context, report func(error)) error {
	if l == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			err := l.Flush()
			if l.out != nil {
				err = errors.Join(err, l.out.Close())
			}
			return err
		case <-tick.C:
			if err := l.Flush(); err != nil {
				report(err)
			}
		}
	}
}
