package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package.
const root = "../.."

// mayImport is the table of DESIGN.md §1: which of our modules each one may import. Modules below deploy that are not listed may import
// everything.
var mayImport = map[string][]string{
	"linkfold/schema":          {},
	"linkfold/redirector":      {"linkfold/schema", "linkfold/deploy/service"},
	"linkfold/ingest":          {"linkfold/schema", "linkfold/deploy/service"},
	"linkfold/projector":       {"linkfold/schema", "linkfold/deploy/service"},
	"linkfold/dashboards":      {"linkfold/schema", "linkfold/deploy/service"},
	"linkfold/deploy/service":  {},
	"linkfold/deploy/devstack": {},
}

// testsMayImport is what tests of every module may import besides: the servers to test with.
const testsMayImport = "linkfold/deploy/devstack"

// module is what a go.mod file says.
type module struct {
	dir     string
	Module  struct{ Path string }
	Go      string
	Require []struct {
		Path, Version string
		Indirect      bool
	}
}

// modules reads every go.mod of the tree.
func modules(t *testing.T) []module {
	t.Helper()
	var all []module
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root):
			return fs.SkipDir
		case d.Name() == "go.mod":
			m := module{dir: filepath.Dir(path)}
			decode(t, &m, "go", "mod", "edit", "-json", path)
			all = append(all, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// command runs the go tool in a directory and returns what it printed.
func command(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	if e := (*exec.ExitError)(nil); errors.As(err, &e) {
		t.Fatalf("%s in %s: %v\n%s", strings.Join(args, " "), dir, err, e.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := json.Unmarshal(command(t, ".", nil, args...), into); err != nil {
		t.Fatal(err)
	}
}

// ours is the module that a package belongs to, or "" when it is nobody's here. Packages of a module that lies inside another's
// folder are the inner one's.
func ours(pkg string, all []module) string {
	best := ""
	for _, m := range all {
		if p := m.Module.Path; (pkg == p || strings.HasPrefix(pkg, p+"/")) && len(p) > len(best) {
			best = p
		}
	}
	return best
}

// pkg is one package with what it imports itself. That is enough: what those import is looked at in their own modules.
type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T, m module) []pkg {
	t.Helper()
	out := json.NewDecoder(strings.NewReader(string(command(t, m.dir, nil, "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./..."))))
	var all []pkg
	for {
		var p pkg
		err := out.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestImports enforces the table of DESIGN.md §1.
func TestImports(t *testing.T) {
	all := modules(t)
	for path := range mayImport {
		if !slices.ContainsFunc(all, func(m module) bool { return m.Module.Path == path }) {
			t.Errorf("there is no module %s", path)
		}
	}
	for _, m := range all {
		allowed, listed := mayImport[m.Module.Path]
		if !listed {
			if !strings.HasPrefix(m.Module.Path, "linkfold/deploy/") {
				t.Errorf("module %s is not in the table of DESIGN.md §1", m.Module.Path)
			}
			continue
		}
		check := func(importer string, imports []string, extra ...string) {
			for _, i := range imports {
				from := ours(i, all)
				if from == "" && strings.HasPrefix(i, "linkfold/") {
					t.Errorf("%s imports %s, which no module has", importer, i)
				}
				if from != "" && from != m.Module.Path && !slices.Contains(allowed, from) && !slices.Contains(extra, from) {
					t.Errorf("%s imports %s", importer, i)
				}
			}
		}
		for _, p := range packages(t, m) {
			check(p.ImportPath, p.Imports)
			check("a test of "+p.ImportPath, p.TestImports, testsMayImport)
			check("a test of "+p.ImportPath, p.XTestImports, testsMayImport)
		}
	}
}

// TestWorkspace: go.work names every module of the tree and nothing else, and all modules agree on the Go version.
func TestWorkspace(t *testing.T) {
	var work struct {
		Go  string
		Use []struct{ DiskPath string }
	}
	decode(t, &work, "go", "work", "edit", "-json", filepath.Join(root, "go.work"))
	var used, found []string
	for _, u := range work.Use {
		used = append(used, filepath.Join(root, u.DiskPath))
	}
	for _, m := range modules(t) {
		found = append(found, m.dir)
		if m.Go != work.Go {
			t.Errorf("%s/go.mod says go %s, go.work %s", m.dir, m.Go, work.Go)
		}
		if want := "linkfold/" + filepath.ToSlash(strings.TrimPrefix(m.dir, root+string(filepath.Separator))); m.Module.Path != want {
			t.Errorf("module in %s is called %s, want %s", m.dir, m.Module.Path, want)
		}
	}
	slices.Sort(used)
	slices.Sort(found)
	if !slices.Equal(used, found) {
		t.Errorf("go.work uses %v, the tree has %v", used, found)
	}
}

// TestOneVersion: a library that several modules require is required in one version.
func TestOneVersion(t *testing.T) {
	versions := map[string]map[string][]string{} // path, version, modules
	for _, m := range modules(t) {
		for _, r := range m.Require {
			if r.Indirect {
				continue
			}
			if versions[r.Path] == nil {
				versions[r.Path] = map[string][]string{}
			}
			versions[r.Path][r.Version] = append(versions[r.Path][r.Version], m.Module.Path)
		}
	}
	for path, by := range versions {
		if len(by) > 1 {
			t.Errorf("%s is required in %d versions: %v", path, len(by), by)
		}
	}
}

// TestModulesAlone: every module's go.mod and go.sum are enough for it without the workspace, tests included. Building all of them that way
// is a step of its own in CI, where LINKFOLD_BUILD_ALONE is set; here their imports are resolved, which takes a moment only.
func TestModulesAlone(t *testing.T) {
	for _, m := range modules(t) {
		t.Run(m.Module.Path, func(t *testing.T) {
			env := []string{"GOWORK=off", "GOFLAGS=-mod=readonly"}
			command(t, m.dir, env, "go", "list", "-deps", "-test", "./...")
			if os.Getenv("LINKFOLD_BUILD_ALONE") != "" {
				command(t, m.dir, env, "go", "build", "./...")
			}
		})
	}
}
