package cli

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/cli/manpage"
)

func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write the golden files anew")
	flag.Parse()
	os.Exit(m.Run())
}

// TestHelpIsGolden compares the help of every command with its golden file. Run
// go test ./internal/cli -update to write them anew.
func TestHelpIsGolden(t *testing.T) {
	seen := map[string]bool{}
	eachCommand(NewRoot(newBench(nil).Deps), func(cmd *cobra.Command) {
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".txt"
		seen[name] = true
		b := newBench(nil)
		if status := b.run(append(strings.Fields(cmd.CommandPath())[1:], "--help")...); status != 0 {
			t.Errorf("%s --help: exit status %d", cmd.CommandPath(), status)
		}
		golden(t, filepath.Join("testdata", "help", name), b.out.Bytes())
	})
	files, err := os.ReadDir(filepath.Join("testdata", "help"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !seen[f.Name()] {
			t.Errorf("testdata/help/%s is of no command", f.Name())
		}
	}
}

func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, visit)
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if updating() {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Errorf("%v; go test ./internal/cli -update writes it", err)
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestEveryCommandTeaches holds the help to its form.
func TestEveryCommandTeaches(t *testing.T) {
	eachCommand(NewRoot(newBench(nil).Deps), func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: its short text must be there, without a full stop: %q", cmd.CommandPath(), cmd.Short)
		}
		if cmd.Long == "" {
			t.Errorf("%s: no long text", cmd.CommandPath())
		}
		for line := range strings.SplitSeq(cmd.Long+"\n"+cmd.Example, "\n") {
			if len(line) > 84 {
				t.Errorf("%s: a line of the help is longer than 84: %q", cmd.CommandPath(), line)
			}
		}
	})
}

func TestManPagesAreThereForEveryCommand(t *testing.T) {
	dir := t.TempDir()
	b := newBench(nil)
	if status := b.run("man", dir); status != 0 {
		t.Fatal(b.err.String())
	}
	page, err := os.ReadFile(filepath.Join(dir, "turnback-checkpoint-restore.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".TH \"TURNBACK\\-CHECKPOINT\\-RESTORE\" 1", ".SH OPTIONS\n", "\\-\\-dry\\-run", ".SH EXAMPLES\n.nf\n",
		"\\fBturnback\\-checkpoint\\fR(1)",
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	for _, p := range manpage.Pages(NewRoot(b.Deps), "1") {
		if _, err := os.Stat(filepath.Join(dir, p.Name)); err != nil {
			t.Error(err)
		}
	}
}
