package admin

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// LoadToken reads the bearer token from a file that only its owner may read, and makes the file with a random token when it does not
// exist.
func LoadToken(path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("create token directory: %w", err)
	}
	if err := writeToken(path); err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("token file %s can be read by others: run chmod 600 %s", path, path)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if len(token) < 16 {
		return "", fmt.Errorf("token in %s has %d characters: give at least 16, or delete the file to have one made", path, len(token))
	}
	return token, nil
}

// writeToken makes the file whole or not at all: under another name first, so that a crash cannot leave half a token.
func writeToken(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".token-*") // 0600
	if err != nil {
		return fmt.Errorf("create token: %w", err)
	}
	_, err = tmp.WriteString(rand.Text() + rand.Text() + "\n")
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		// Link does not overwrite: of two processes that start at once, one wins and both read its token.
		if err = os.Link(tmp.Name(), path); errors.Is(err, os.ErrExist) {
			err = nil
		}
	}
	if err = errors.Join(err, os.Remove(tmp.Name())); err != nil {
		return fmt.Errorf("create token: %w", err)
	}
	return nil
}
