//go:build unix

package fault_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/git"
)

// stub is a git that does something else at one of its calls.
type stub struct {
	dir string
	git *git.Git
}

// What a stub does instead: words of its script.
const (
	fail    = "fail"    // says something and ends with 128
	empty   = "empty"   // says nothing and ends well
	garbage = "garbage" // says nonsense and ends well
	hang    = "hang"    // reads what it is given and never ends
	refuse  = "refuse"  // does its work and says that it failed
	die     = "die"     // kills the process that called it, and is killed with it
)

// newStub makes a stub that is well until it is armed.
func newStub(t testing.TB, env []string, stall time.Duration) *stub {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{dir: t.TempDir()}
	script := `#!/bin/sh
dir='` + s.dir + `'
[ -e "$dir/plan" ] || exec '` + real + `' "$@"
n=1
[ -e "$dir/last" ] && read -r n <"$dir/last"
while ! (set -C; : >"$dir/call-$n") 2>/dev/null; do n=$((n + 1)); done
echo "$n" >"$dir/last"
read -r at what <"$dir/plan"
if [ "$n" -eq "$at" ]; then
	echo "$@" >"$dir/hit"
	case $what in
	fail) echo 'fatal: the stub fails' >&2; exit 128 ;;
	empty) exit 0 ;;
	garbage) printf 'nonsense \001\377\n0\n\000x y z\t\000\n'; exit 0 ;;
	hang) cat >/dev/null; exec sleep 60 ;;
	refuse) '` + real + `' "$@"; echo 'fatal: the stub says so' >&2; exit 128 ;;
	die) kill -9 $PPID; exec sleep 60 ;;
	esac
fi
exec '` + real + `' "$@"
`
	path := filepath.Join(s.dir, "git")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if s.git, err = git.Find(t.Context(), git.FindOptions{Env: env, Configured: path}); err != nil {
		t.Fatal(err)
	}
	s.git = s.git.WithStall(stall)
	return s
}

// arm has the stub do what at its call number at, counted from now; 0: only count.
func (s *stub) arm(t testing.TB, at int, what string) {
	t.Helper()
	old, _ := filepath.Glob(filepath.Join(s.dir, "call-*"))
	for _, path := range append(old, filepath.Join(s.dir, "last"), filepath.Join(s.dir, "hit")) {
		_ = os.Remove(path)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "plan"), fmt.Appendf(nil, "%d %s\n", at, what), 0o600); err != nil {
		t.Fatal(err)
	}
}

// calls tells how many there were since the stub was armed.
func (s *stub) calls() int {
	list, _ := filepath.Glob(filepath.Join(s.dir, "call-*"))
	return len(list)
}

// hit is the command line at which the stub did something else, without the
// settings in front of it.
func (s *stub) hit() string {
	data, _ := os.ReadFile(filepath.Join(s.dir, "hit"))
	words := strings.Fields(string(data))
	for len(words) > 1 && words[0] == "-c" {
		words = words[2:]
	}
	return strings.Join(words[:min(4, len(words))], " ")
}

// count tells how many git calls an act takes.
func count(t testing.TB, w *world, sc scenario, s *stub) int {
	t.Helper()
	w.reset()
	s.arm(t, 0, "")
	if err := sc.act(t.Context(), w, w.open(s.git)); err != nil {
		t.Fatalf("without any fault: %v", err)
	}
	return s.calls()
}

// places are the calls to break: all, or some of them that differ with the way.
func places(calls int, way int) []int {
	var out []int
	for i := 1; i <= calls; i++ {
		if *every || (i+3*way)%11 == 0 {
			out = append(out, i)
		}
	}
	return out
}

// TestB47GitFailsOrLies has git fail, say nothing, talk nonsense, or fail after
// its work, at each call in turn.
func TestB47GitFailsOrLies(t *testing.T) {
	for k, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			w := newWorld(t, sc)
			s := newStub(t, w.Env(), 10*time.Second)
			calls := count(t, w, sc, s)
			for way, what := range []string{fail, empty, garbage, refuse} {
				for _, at := range places(calls, way+k) {
					w.broken(t, sc, s, at, what)
				}
			}
		})
	}
}

// broken acts with a git that does what at call number at, and looks at what is
// left.
func (w *world) broken(t *testing.T, sc scenario, s *stub, at int, what string) {
	t.Run(fmt.Sprintf("%s at call %d", what, at), func(t *testing.T) {
		w.t = t
		w.reset()
		before := w.state()
		s.arm(t, at, what)
		var err error
		store, err := w.tryOpen(s.git)
		if err == nil {
			err = sc.act(t.Context(), w, store)
		}
		t.Logf("git %s: %v", s.hit(), err)
		w.check(sc, before, err)
	})
}

// TestB94GitHangs has git read its input and never end, at each call in turn.
func TestB94GitHangs(t *testing.T) {
	const stall = 1500 * time.Millisecond
	for k, sc := range scenarios() {
		if !*every && sc.name != "save" && sc.name != "restore" {
			continue
		}
		t.Run(sc.name, func(t *testing.T) {
			w := newWorld(t, sc)
			s := newStub(t, w.Env(), stall)
			calls := count(t, w, sc, s)
			for _, at := range places(calls, k) {
				begun := time.Now()
				w.broken(t, sc, s, at, hang)
				if took := time.Since(begun); took > 20*time.Second {
					t.Errorf("a hang at call %d took %s", at, took)
				}
			}
		})
	}
}
