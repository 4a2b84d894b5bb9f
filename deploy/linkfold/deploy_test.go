package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

var variable = regexp.MustCompile(`LINKFOLD_[A-Z_]+`)

// Every variable that the compose file and the systemd units set for a service is one that this service reads.
func TestDeploymentsSetVariablesThatExist(t *testing.T) {
	t.Parallel()
	compose := read(t, filepath.Join("..", "docker", "compose.yaml"))
	for _, service := range []string{"redirector", "ingest", "projector"} {
		cmd := exec.Command("go", "run", "./cmd/"+service, "--help")
		cmd.Dir = filepath.Join("..", "..", service)
		help, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s --help: %v\n%s", service, err, help)
		}
		known := map[string]bool{}
		for _, v := range variable.FindAllString(string(help), -1) {
			known[v] = true
		}
		block := regexp.MustCompile(`(?ms)^  ` + service + `:\n.*?^  [a-z]`).FindString(compose)
		if block == "" {
			t.Errorf("the compose file has no service %s", service)
		}
		unit := regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(read(t, filepath.Join("..", "systemd", "linkfold-"+service+".service")), "")
		for _, v := range variable.FindAllString(block+unit, -1) {
			if !known[v] {
				t.Errorf("%s is set for %s, which does not read it", v, service)
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
