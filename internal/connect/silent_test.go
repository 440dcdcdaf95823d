//go:build unix

package connect_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/connect"
	"github.com/turnback/turnback/internal/verbs"
)

// hangs makes a socket of this house at which nobody ever answers.
func (h *house) hangs() {
	h.t.Helper()
	if err := h.socket().MakeDir(); err != nil {
		h.t.Fatal(err)
	}
	l, err := net.Listen("unix", h.socket().Path)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = l.Close() })
}

// localList is a table with a verb that reads.
func localList(context.Context) (*verbs.Table, error) {
	v := echoVerb("here")
	v.Name = "list-checkpoints"
	return verbs.NewTable(v)
}

func TestADaemonThatHangs(t *testing.T) {
	h := newHouse(t)
	h.hangs()
	o := h.options()
	o.ReadWait, o.Local = 200*time.Millisecond, localList
	c := h.caller(o)
	var got echoResult
	if err := c.Call(t.Context(), "list-checkpoints", echoParams{Text: "x"}, &got, nil); err != nil || got.At != "here" {
		t.Errorf("a read that needs no daemon: %+v, %v", got, err)
	}
	err := c.Call(t.Context(), "status", nil, nil, nil)
	if e := api.AsError(err); e.Code != api.CodeNoDaemon || e.Hint == nil || !strings.Contains(e.Hint.Detail, h.socket().Path) {
		t.Errorf("a read that needs one: %v", err)
	}
	_, err = connect.Stop(t.Context(), o)
	if e := api.AsError(err); e.Code != api.CodeTimeout {
		t.Errorf("stop: %v", err)
	}
	err = connect.Events(t.Context(), o, func(api.Event) error { return nil })
	if e := api.AsError(err); e.Code != api.CodeNoDaemon {
		t.Errorf("events: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := c.Call(ctx, "undo", nil, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write is given up after %s: %v", o.ReadWait, err)
	}
}

func TestWhereThereIsNoStateFolder(t *testing.T) {
	h := newHouse(t)
	blocked := filepath.Join(h.dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "XDG_STATE_HOME="+filepath.Join(blocked, "state"))
	o := h.options()
	o.Executable = filepath.Join(h.dir, "program")
	if err := os.WriteFile(o.Executable, []byte("#!/bin/sh\necho no room here >&2\nexit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := connect.Start(t.Context(), o)
	if e := api.AsError(err); e.Code != api.CodeNoDaemon || !strings.Contains(e.Message, "no room here") {
		t.Errorf("error %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(h.socket().Path))
	if err != nil || strings.Contains(fmt.Sprint(entries), "daemon.err") {
		t.Errorf("left over: %v, %v", entries, err)
	}
}
