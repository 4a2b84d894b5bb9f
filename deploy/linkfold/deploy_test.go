package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// Every variable that the compose file and the systemd units set is one that a service reads.
func TestDeploymentsSetVariablesThatExist(t *testing.T) {
	t.Parallel()
	var help bytes.Buffer
	for _, service := range []string{"redirector", "ingest", "projector"} {
		cmd := exec.Command("go", "run", "./cmd/"+service, "--help")
		cmd.Dir = filepath.Join("..", "..", service)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s --help: %v\n%s", service, err, out)
		}
		help.Write(out)
	}
	known := map[string]bool{}
	name := regexp.MustCompile(`LINKFOLD_[A-Z_]+`)
	for _, v := range name.FindAllString(help.String(), -1) {
		known[v] = true
	}
	files, err := filepath.Glob(filepath.Join("..", "systemd", "*.service"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, filepath.Join("..", "docker", "compose.yaml")) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range name.FindAllString(string(b), -1) {
			if !known[v] {
				t.Errorf("%s sets %s, which no service reads", filepath.Base(file), v)
			}
		}
	}
}
