package process

import (
	"os"
	"strings"
)

// tail returns the last lines of a log, at most 10 lines and 2 KB: enough to say why a server ended.
func tail(path string) string {
	const limit = 2048
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	data := make([]byte, min(limit, info.Size()))
	n, _ := f.ReadAt(data, info.Size()-int64(len(data)))
	lines := strings.Split(strings.TrimSpace(string(data[:n])), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}
