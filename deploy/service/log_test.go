package service

import (
	"bytes"
	"strings"
	"testing"
)

func TestLogger(t *testing.T) {
	for _, c := range []struct{ format, level, want string }{
		{"json", "info", `"msg":"shown"`},
		{"text", "warn", ""},
		{"text", "debug", "msg=shown"},
		{"auto", "info", `"msg":"shown"`}, // a buffer is not a terminal
	} {
		var b bytes.Buffer
		log, err := Logger(&b, c.format, c.level)
		if err != nil {
			t.Fatal(err)
		}
		log.Info("shown")
		if !strings.Contains(b.String(), c.want) || (c.want == "") != (b.Len() == 0) {
			t.Errorf("%s %s: %q", c.format, c.level, b.String())
		}
	}
}

func TestLoggerRefusesNonsense(t *testing.T) {
	for _, c := range [][2]string{{"xml", "info"}, {"json", "loud"}} {
		if _, err := Logger(&bytes.Buffer{}, c[0], c[1]); err == nil || !strings.Contains(err.Error(), "give ") {
			t.Errorf("%v: %v", c, err)
		}
	}
}
