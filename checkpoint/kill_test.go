//go:build unix

package checkpoint_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/seed"
)

// killAt names the environment variables by which the test program restores
// checkpoint 1 of a work tree and kills itself at a step boundary.
const (
	killAt  = "TURNBACK_TEST_KILL_AT"
	killDir = "TURNBACK_TEST_KILL_DIR"
)

func TestMain(m *testing.M) {
	if at := os.Getenv(killAt); at != "" {
		restoreAndDie(at, os.Getenv(killDir))
		os.Exit(3)
	}
	os.Exit(seed.Main(m))
}

func restoreAndDie(at, dir string) {
	k, err := strconv.Atoi(at)
	if err != nil {
		return
	}
	store, err := checkpoint.Open(context.Background(), checkpoint.Options{Dir: dir, Env: os.Environ(), Now: time.Now})
	if err != nil {
		return
	}
	n := 0
	_, _ = store.Restore(context.Background(), checkpoint.RestoreRequest{
		Pane: checkpoint.Pane{ID: "00d333ce", Window: "build", Session: "api"}, N: 1,
		Step: func(string) error {
			if n++; n == k {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
			return nil
		},
	})
}

// TestB101ProcessKilledDuringARestore kills a real process in the middle of a
// restore; the next one sees it and finishes it either way.
func TestB101ProcessKilledDuringARestore(t *testing.T) {
	for k := 1; k < stepsOf(t); k += 4 {
		for _, abort := range []bool{false, true} {
			r, then := swaps(t)
			want := then
			if abort {
				want = r.Tree()
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(r.Env(), killAt+"="+strconv.Itoa(k), killDir+"="+r.Root)
			err := cmd.Run()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
				t.Fatalf("step %d: the process was not killed: %v", k, err)
			}
			_, err = r.store.Restore(t.Context(), r.request(1))
			wantCode(t, err, checkpoint.Interrupted)
			if _, err := r.store.Finish(t.Context(), checkpoint.FinishRequest{Abort: abort}); err != nil {
				t.Fatalf("step %d: finish: %v", k, err)
			}
			if diff := cmp.Diff(want, r.Tree()); diff != "" {
				t.Errorf("step %d, abort %v (- want, + got):\n%s", k, abort, diff)
			}
		}
	}
}
