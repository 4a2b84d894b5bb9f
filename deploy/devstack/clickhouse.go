package devstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/ClickHouse/clickhouse-go/v2"

	"linkfold/deploy/devstack/internal/engine"
	"linkfold/deploy/devstack/internal/process"
	"linkfold/deploy/devstack/internal/state"
)

// defaultMemory is the memory limit of the ClickHouse server in bytes.
const defaultMemory = 4_000_000_000

// clickHouse runs ClickHouse as a child: a clickhouse program, or the engine library in a copy of this executable.
type clickHouse struct {
	dir              string
	program          string // a clickhouse binary; empty: the library
	library          string
	fixed, fixedHTTP int
	memory           int64
	port, portHTTP   int
	password         string
}

func newClickHouse(c Config) (kind, error) {
	k := &clickHouse{dir: c.Dir, fixed: c.ClickHousePort, fixedHTTP: c.ClickHouseHTTPPort, memory: c.ClickHouseMemory}
	if k.memory == 0 {
		k.memory = defaultMemory
	}
	if program, err := exec.LookPath("clickhouse"); err == nil {
		k.program = program
		return k, nil
	}
	library, err := engine.Find()
	switch {
	case err == nil:
		k.library = library
		return k, nil
	case errors.Is(err, engine.ErrUnsupported):
		return nil, &MissingError{Server: ClickHouse, Install: fmt.Sprintf("put a clickhouse binary on PATH "+
			"(https://clickhouse.com/docs/install) or give a ClickHouse DSN; there is no other way on this machine: %v", err)}
	default:
		return nil, &MissingError{Server: ClickHouse, Install: "run `go tool task setup` (or `linkfold setup`), " +
			"put a clickhouse binary on PATH, or give a ClickHouse DSN"}
	}
}

func (c *clickHouse) configure(ctx context.Context) (string, error) {
	var err error
	if c.port, err = choosePort(ctx, c.dir, "clickhouse", c.fixed); err != nil {
		return "", err
	}
	if c.portHTTP, err = choosePort(ctx, c.dir, "clickhouse_http", c.fixedHTTP); err != nil {
		return "", err
	}
	if c.password, err = state.Secret(ctx, c.dir, "clickhouse"); err != nil {
		return "", err
	}
	u := url.URL{Scheme: "clickhouse", User: c.user(), Host: hostPort(c.port), Path: "/linkfold"}
	return u.String(), c.writeConfig()
}

func (c *clickHouse) user() *url.Userinfo { return url.UserPassword("linkfold", c.password) }

func (c *clickHouse) httpURL() string {
	u := url.URL{Scheme: "http", User: c.user(), Host: hostPort(c.portHTTP), Path: "/", RawQuery: "database=linkfold"}
	return u.String()
}

func (c *clickHouse) dataDir() string { return filepath.Join(c.dir, string(ClickHouse)) }

func (c *clickHouse) configFile() string { return filepath.Join(c.dataDir(), "config.xml") }

func (c *clickHouse) launch(_ context.Context, inherit *os.File) (run, error) {
	if c.program == "" {
		return launchChild(childSpec{Server: ClickHouse, Dir: c.dir, Library: c.library, Config: c.configFile()}, inherit)
	}
	return startProcess(process.Spec{
		Path: c.program, Args: []string{"server", "--config-file", c.configFile()},
		// Its watchdog would be our child, and the server a grandchild that survives us.
		Env: []string{"CLICKHOUSE_WATCHDOG_ENABLE=0"},
		Dir: c.dataDir(), LogFile: filepath.Join(c.dir, "logs", "clickhouse.out"), Inherit: []*os.File{inherit},
	})
}

// probe creates the database over the native protocol, which proves that listener and the password at once, and asks
// for the HTTP listener. Both: the engine goes on without a listener that could not be opened.
func (c *clickHouse) probe(ctx context.Context, dsn string) error {
	o, err := clickhouse.ParseDSN(dsn)
	if err != nil {
		return err
	}
	o.Auth.Database = "default"
	if err := execClickHouse(ctx, o, "CREATE DATABASE IF NOT EXISTS linkfold ENGINE = Atomic"); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+hostPort(c.portHTTP)+"/ping", nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("ping clickhouse over http: status %d", res.StatusCode)
	}
	return nil
}
