package natsd

import (
	"fmt"
	"sync"

	"github.com/nats-io/nats-server/v2/logger"
)

// serverLog writes the server's log to a file. It is the file logger of the NATS server but for one thing: that one
// exits the process on a fatal error, such as a port that is in use; here the error is kept and the server is told to
// end.
type serverLog struct {
	file  *logger.Logger
	fatal chan struct{} // closed at the first fatal error

	mu   sync.Mutex
	text string // the first fatal error
}

func (l *serverLog) Noticef(format string, v ...any) { l.file.Noticef(format, v...) }
func (l *serverLog) Warnf(format string, v ...any)   { l.file.Warnf(format, v...) }
func (l *serverLog) Errorf(format string, v ...any)  { l.file.Errorf(format, v...) }
func (l *serverLog) Debugf(format string, v ...any)  { l.file.Debugf(format, v...) }
func (l *serverLog) Tracef(format string, v ...any)  { l.file.Tracef(format, v...) }

// Fatalf keeps the first fatal error instead of exiting.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.file.Errorf(format, v...)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		l.text = fmt.Sprintf(format, v...)
		close(l.fatal)
	}
}

func (l *serverLog) fatalText() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
