// Package natsd runs a NATS server with JetStream inside the calling process.
package natsd

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats-server/v2/logger"
	"github.com/nats-io/nats-server/v2/server"
)

// Options says where a server listens and stores.
type Options struct {
	Host           string
	Port           int
	User, Password string
	StoreDir       string // JetStream's files; created when missing
	LogFile        string // appended to; rotated at 10 MB, three old files kept
}

// Server is a running or ended server. Its methods may be called by several goroutines.
type Server struct {
	ns   *server.Server
	log  *serverLog
	done chan struct{}
}

// Start starts the server and returns before it accepts connections. The server's configuration is the one of
// DESIGN.md section 3: every acknowledged event is on disk. It takes no signals.
func Start(o Options) (*Server, error) {
	ns, err := server.NewServer(&server.Options{
		ServerName: "linkfold", Host: o.Host, Port: o.Port, Username: o.User, Password: o.Password,
		JetStream: true, StoreDir: o.StoreDir, SyncAlways: true,
		// JetStream's limits stay unset: the server then takes 75 % of what is free on the disk, plus what it stores already.
		NoSigs: true,
	})
	if err != nil {
		return nil, fmt.Errorf("create nats server: %w", err)
	}
	s := &Server{ns: ns, log: openLog(o.LogFile), done: make(chan struct{})}
	ns.SetLoggerV2(s.log, false, false, false)
	go s.run()
	return s, nil
}

// run starts the server, which goes on by itself, and waits for its end or for a fatal error, after which the server
// is shut down: it would go on half alive.
func (s *Server) run() {
	defer close(s.done)
	go func() {
		select {
		case <-s.log.fatal:
			s.ns.Shutdown()
		case <-s.done:
		}
	}()
	s.ns.Start()
	s.ns.WaitForShutdown()
	s.log.file.Close()
}

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says how the server ended; it waits for that end.
func (s *Server) Err() error {
	<-s.done
	if text := s.log.fatalText(); text != "" {
		return errors.New(text)
	}
	return nil
}

// Pid is the process that the server runs in: this one.
func (s *Server) Pid() int { return os.Getpid() }

// Stop shuts the server down and waits until its files are closed. The error is that of ctx when it ends first; the
// shutdown then goes on.
func (s *Server) Stop(ctx context.Context) error {
	go s.ns.Shutdown() // idempotent; its end is what done tells
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Kill is Stop without a limit: a server in this process cannot be killed alone.
func (s *Server) Kill() {
	s.ns.Shutdown()
	<-s.done
}

// openLog opens the server's own log. The logger of the NATS server opens its file itself and exits the process when
// it cannot, so the file is tried first.
func openLog(path string) *serverLog {
	l := &serverLog{fatal: make(chan struct{})}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		path = os.DevNull
	} else {
		file.Close()
	}
	l.file = logger.NewFileLogger(path, true, false, false, true)
	if err == nil {
		l.file.SetSizeLimit(10 << 20)
		l.file.SetMaxNumFiles(4)
	}
	return l
}
