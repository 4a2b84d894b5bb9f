package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// documented lists the commands of linkfold that a page shows, without their comments.
func documented(t *testing.T, page string) [][]string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), "\\\n", "")
	var commands [][]string
	for line := range strings.Lines(text) {
		code, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		code, _, _ = strings.Cut(code, "  #")
		if words := strings.Fields(code); len(words) > 1 && strings.TrimPrefix(words[0], "dist/") == "linkfold" {
			commands = append(commands, words[1:])
		}
	}
	return commands
}

// Every command about rules, domains and resolution that the pages show does what it is shown for.
func TestDocumentedCommandsWork(t *testing.T) {
	in := startUp(t)
	t.Chdir(filepath.Join("..", ".."))
	ran := map[string]int{}
	for _, page := range []string{"README.md", filepath.Join("redirector", "rules", "README.md")} {
		for _, args := range documented(t, page) {
			switch args[0] {
			case "domain":
				args = append(slices.Clone(args), "--data", in.dir)
			case "rules", "resolve":
			default:
				continue // Tried elsewhere.
			}
			var out, screen bytes.Buffer
			if code := run(args, &out, &screen); code != 0 || out.Len() == 0 {
				t.Errorf("%s: linkfold %s: exit code %d\n%s%s", page, strings.Join(args, " "), code, out.String(), screen.String())
			}
			ran[args[0]]++
		}
	}
	if ran["domain"] < 4 || ran["rules"] < 4 || ran["resolve"] < 1 {
		t.Errorf("only %v commands were found", ran)
	}
}
