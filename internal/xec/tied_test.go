//go:build unix

package xec

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// ends waits until a process has ended.
func ends(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); alive(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

func TestATiedProgramRunsAsAnyOther(t *testing.T) {
	var out bytes.Buffer
	c := Command{Path: "/bin/sh", Args: []string{"-c", "cat; exit 3"}, Env: []string{"PATH=/bin:/usr/bin"}, Stdin: strings.NewReader("in"), Stdout: &out, Tied: true}
	err := Run(context.Background(), c)
	if exit, ok := errors.AsType[*ExitError](err); !ok || exit.Code != 3 || out.String() != "in" {
		t.Errorf("error %v, output %q", err, out.String())
	}
	if err := Run(context.Background(), Command{Path: "/nonexistent", Tied: true}); err == nil {
		t.Error("a program that is not there started")
	}
}

// What a command leaves running on purpose outlives it, as it does when it is not tied.
func TestATiedProgramThatEndsLeavesItsChildrenAlone(t *testing.T) {
	var out bytes.Buffer
	c := Command{Path: "/bin/sh", Args: []string{"-c", "sleep 60 >/dev/null 2>&1 & echo $!"}, Env: []string{"PATH=/bin:/usr/bin"}, Stdout: &out, Tied: true}
	if err := Run(context.Background(), c); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // long enough for a keeper that is wrong
	if !alive(pid) {
		t.Error("a child that was left running has ended")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// The pipe to the keeper closes as it does when this process is killed.
func TestAKeeperEndsTheGroup(t *testing.T) {
	k, err := newKeeper()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(context.Background(), Command{Path: "/bin/sh", Args: []string{"-c", "sleep 60 & echo $!; wait"}, Env: []string{"PATH=/bin:/usr/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 32)
	n, err := p.Stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.keep(p.cmd.Process.Pid), k.pipe.Close()); err != nil {
		t.Fatal(err)
	}
	_ = k.cmd.Wait() // its end is in its own group, or not: what matters is the other's
	if err := p.Wait(); err == nil {
		t.Error("the program ended by itself")
	}
	ends(t, child)
}
