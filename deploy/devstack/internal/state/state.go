// Package state keeps what a development stack remembers between two starts: its ports, its passwords, and which
// process owns a directory.
//
// Files below one directory: ports.json and secrets.json (mode 0600), each replaced by rename, and lock files. Every
// function may be called by several processes at once: each change happens under an exclusive lock.
package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// update reads the JSON object in dir/name into a map, lets change alter it, and writes it back when change reports
// that it did. A missing file is an empty object. The file is readable by its owner alone.
func update[V any](ctx context.Context, dir, name string, change func(map[string]V) (bool, error)) error {
	unlock, err := Lock(ctx, filepath.Join(dir, "state.lock"))
	if err != nil {
		return err
	}
	defer unlock.Close()
	path := filepath.Join(dir, name)
	values := map[string]V{}
	if err := read(path, &values); err != nil {
		return err
	}
	changed, err := change(values)
	if err != nil || !changed {
		return err
	}
	return replace(path, values)
}

// read decodes a JSON file into values; a missing file leaves them as they are.
func read(path string, values any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, values); err != nil {
		return fmt.Errorf("read %s: %v", path, err)
	}
	return nil
}

// replace writes values as JSON beside path and renames the result over it, so that a reader never sees half a file.
func replace(path string, values any) error {
	data, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".state-*") // created with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(append(data, '\n'))
	if err := errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("write %s: %v", path, err)
	}
	return os.Rename(temp.Name(), path)
}
