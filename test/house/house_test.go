package house_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/test/house"
)

// root is the repository, seen from this package's directory.
const root = "../.."

func TestRepositoryKeepsTheRules(t *testing.T) {
	t.Parallel()
	source, err := house.Read(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(source.Files) < 50 {
		t.Fatalf("read only %d files: the rules hold nothing", len(source.Files))
	}
	for _, rule := range house.Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			for _, v := range rule.Check(source) {
				t.Errorf("%s\n\tthe rule: %s", v, rule.Text)
			}
		})
	}
}

func TestRepositoryNamesNoMachinePath(t *testing.T) {
	t.Parallel()
	files := trackedFiles(t)
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	paths := house.Paths{Machine: []string{checkout}}
	// A home of one component, as "/root", would be found in innocent words.
	if home, err := os.UserHomeDir(); err == nil && strings.Count(home, "/") > 1 {
		paths.Machine = append(paths.Machine, home)
	}
	found, err := paths.Check(os.DirFS(root), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// trackedFiles lists what git tracks and what it would track next.
func trackedFiles(t *testing.T) []string {
	t.Helper()
	list := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(files, func(name string) bool {
		// Deleted but still in the index, or a link.
		info, err := os.Lstat(filepath.Join(root, name))
		return err != nil || info.Mode()&fs.ModeType != 0
	})
}
