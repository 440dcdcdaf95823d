package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/api"
)

func untrusted() api.FiltersResult {
	return api.FiltersResult{Worktree: "/src/api", Filters: []api.Filter{
		{FilterDriver: api.FilterDriver{Name: "crypt", Clean: "crypt in", Smudge: "crypt out\x1b[2J"}, Scope: "local"},
		{FilterDriver: api.FilterDriver{Name: "lfs", Process: "git-lfs filter-process"}, Scope: "global", Runs: true},
		{FilterDriver: api.FilterDriver{Name: "old", Clean: "old"}, Scope: "local", Runs: true, Trusted: true},
	}}
}

// TestTrustSendsWhatWasShown checks that what is trusted already stays so, and
// that the programs go along: those that were seen, not those that are there by
// then.
func TestTrustSendsWhatWasShown(t *testing.T) {
	b := newBench(map[string]any{"list-filters": untrusted(), "trust-filters": untrusted()})
	if status := b.run("trust"); status != 0 || b.out.String() != "Trusted in /src/api: crypt\n" {
		t.Fatalf("exit status %d, stdout %q, stderr %q", status, b.out.String(), b.err.String())
	}
	want := []any{
		map[string]any{"name": "crypt", "clean": "crypt in", "smudge": "crypt out\x1b[2J"},
		map[string]any{"name": "old", "clean": "old"},
	}
	if diff := cmp.Diff(want, b.calls[1].Params["filters"]); diff != "" {
		t.Errorf("filters (-want +got):\n%s", diff)
	}
}

func TestTrustInATerminalAsks(t *testing.T) {
	for answer, calls := range map[string]int{"y\n": 2, "n\n": 1, "": 1} {
		b := newBench(map[string]any{"list-filters": untrusted(), "trust-filters": untrusted()})
		b.Streams.InTerminal, b.Streams.OutTerminal = true, true
		b.Streams.In = strings.NewReader(answer)
		if status := b.run("trust"); status != 0 || len(b.calls) != calls {
			t.Errorf("answer %q: exit status %d, calls %v", answer, status, b.calls)
		}
		want := "Filters for /src/api:\n" +
			"NAME   SET IN  RUNS  PROGRAM\n" +
			"crypt  local   no    clean    crypt in\n" +
			"                     smudge   crypt out^[[2J\n" +
			"Let these programs run in this repository? [y/N] "
		if !strings.HasPrefix(b.out.String(), want) {
			t.Errorf("answer %q: stdout %q", answer, b.out.String())
		}
	}
}

func TestTrustShowsEveryProgram(t *testing.T) {
	b := newBench(map[string]any{"list-filters": untrusted()})
	b.run("trust", "--show")
	want := `Filters for /src/api:
NAME   SET IN  RUNS     PROGRAM
crypt  local   no       clean    crypt in
                        smudge   crypt out^[[2J
lfs    global  yes      process  git-lfs filter-process
old    local   trusted  clean    old
Files behind a filter that may not run are not saved once they change. To let it run: turnback trust
`
	if diff := cmp.Diff(want, b.out.String()); diff != "" {
		t.Errorf("stdout (-want +got):\n%s", diff)
	}
	if status := b.run("trust", "--show", "--remove"); status != 2 {
		t.Errorf("exit status %d", status)
	}
}
