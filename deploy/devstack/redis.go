package devstack

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"linkfold/deploy/devstack/internal/process"
	"linkfold/deploy/devstack/internal/state"
)

// redisPrograms are looked for in this order; valkey-server is what some distributions install for redis.
var redisPrograms = [...]string{"redis-server", "valkey-server"}

// redisConfig is read from a file with mode 0600, so that the password is not in the process list. The append-only
// file keeps the projection over restarts (it could be rebuilt, which takes longer); nothing is ever evicted.
var redisConfig = template.Must(template.New("redis.conf").Funcs(template.FuncMap{"quote": strconv.Quote}).Parse(`
bind 127.0.0.1
port {{.Port}}
protected-mode yes
requirepass {{quote .Password}}
dir {{quote .Data}}
appendonly yes
appendfsync everysec
save ""
maxmemory-policy noeviction
daemonize no
logfile ""
loglevel notice
always-show-logo no
`))

// redisKind runs redis-server as a child.
type redisKind struct {
	dir      string
	program  string
	fixed    int
	port     int
	password string
}

func newRedis(c Config) (kind, error) {
	program, err := findRedis()
	if err != nil {
		return nil, &MissingError{Server: Redis, Install: redisAdvice()}
	}
	return &redisKind{dir: c.Dir, program: program, fixed: c.RedisPort}, nil
}

// findRedis returns the path of the server's program.
func findRedis() (path string, err error) {
	for _, name := range redisPrograms {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}

func (r *redisKind) configure(ctx context.Context) (string, error) {
	var err error
	if r.port, err = choosePort(ctx, r.dir, string(Redis), r.fixed); err != nil {
		return "", err
	}
	if r.password, err = state.Secret(ctx, r.dir, string(Redis)); err != nil {
		return "", err
	}
	if err := os.MkdirAll(r.dataDir(), 0o700); err != nil {
		return "", err
	}
	u := url.URL{Scheme: "redis", User: url.UserPassword("", r.password), Host: hostPort(r.port), Path: "/0"}
	return u.String(), r.writeConfig()
}

func (r *redisKind) dataDir() string { return filepath.Join(r.dir, string(Redis)) }

func (r *redisKind) configFile() string { return filepath.Join(r.dataDir(), "redis.conf") }

func (r *redisKind) writeConfig() error {
	var b strings.Builder
	err := redisConfig.Execute(&b, map[string]any{"Port": r.port, "Password": r.password, "Data": r.dataDir()})
	if err != nil {
		return err
	}
	return os.WriteFile(r.configFile(), []byte(b.String()), 0o600)
}

func (r *redisKind) launch(_ context.Context, inherit *os.File) (run, error) {
	return startProcess(process.Spec{
		Path: r.program, Args: []string{r.configFile()}, Dir: r.dataDir(),
		LogFile: filepath.Join(r.dir, "logs", "redis.log"), Inherit: []*os.File{inherit},
	})
}

func (r *redisKind) probe(ctx context.Context, url string) error { return probeRedis(ctx, url) }

// startProcess is process.Start with a result that is nil, and not a nil pointer, when it fails.
func startProcess(s process.Spec) (run, error) {
	c, err := process.Start(s)
	if err != nil {
		return nil, err
	}
	return c, nil
}
