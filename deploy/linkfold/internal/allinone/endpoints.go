package allinone

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Endpoints are the servers of a data directory, with their passwords. They are kept in a file that only its owner may read, so that other
// commands find them.
type Endpoints struct {
	NATS           string `json:"nats"`
	Redis          string `json:"redis"`
	ClickHouse     string `json:"clickhouse"`
	ClickHouseHTTP string `json:"clickhouse_http"`
	// Admin is the URL of the admin listener and TokenFile the file of its token; both are empty until the listener is open.
	Admin     string `json:"admin,omitempty"`
	TokenFile string `json:"token_file,omitempty"`
}

// listening adds where the API of a data directory is.
func (e Endpoints) listening(dir string, admin net.Addr) (Endpoints, error) {
	host := admin.String()
	// A listener on all interfaces is reached by this one here.
	if a, ok := admin.(*net.TCPAddr); ok && a.IP.IsUnspecified() {
		host = net.JoinHostPort("localhost", strconv.Itoa(a.Port))
	}
	file, err := filepath.Abs(tokenFile(dir))
	if err != nil {
		return e, fmt.Errorf("find token file: %w", err)
	}
	e.Admin, e.TokenFile = "http://"+host, file
	return e, e.Save(dir)
}

func endpointsFile(dir string) string { return filepath.Join(dir, "endpoints.json") }

// Save writes the file, whole or not at all.
func (e Endpoints) Save(dir string) error {
	b, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("encode endpoints: %w", err)
	}
	tmp := endpointsFile(dir) + ".new"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	if err := os.Rename(tmp, endpointsFile(dir)); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	return nil
}

// LoadEndpoints reads what the last start in dir wrote.
func LoadEndpoints(dir string) (Endpoints, error) {
	var e Endpoints
	b, err := os.ReadFile(endpointsFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return e, fmt.Errorf("%s is no data directory of linkfold: give --data with the one that linkfold up uses", dir)
	}
	if err != nil {
		return e, fmt.Errorf("read endpoints: %w", err)
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return e, fmt.Errorf("read %s: %w", endpointsFile(dir), err)
	}
	return e, nil
}
