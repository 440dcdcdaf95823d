package screen

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

func TestPageRunsThePagerInAShell(t *testing.T) {
	var out, err bytes.Buffer
	s := Streams{Out: &out, Err: &err}
	e := Page(context.Background(), `tr a-z A-Z; echo "$LESS $LV $MINE"`, strings.NewReader("text\n"), s, []string{"PATH=/usr/bin:/bin", "LESS=R", "MINE=x"})
	if e != nil || out.String() != "TEXT\nR -c x\n" {
		t.Errorf("error %v, output %q", e, out.String())
	}
}

func TestPageOutlivesAReaderWhoLeavesEarly(t *testing.T) {
	var out, err bytes.Buffer
	long := strings.Repeat("line\n", 1<<18)
	e := Page(context.Background(), "head -n 1; exit 3", strings.NewReader(long), Streams{Out: &out, Err: &err}, []string{"PATH=/usr/bin:/bin"})
	if e != nil || out.String() != "line\n" {
		t.Errorf("error %v, output %q", e, out.String())
	}
}

func TestPageTellsOfAPagerThatIsNotThere(t *testing.T) {
	s := Streams{Out: io.Discard, Err: io.Discard}
	if Page(context.Background(), "/nonexistent/pager", strings.NewReader("x"), s, nil) == nil {
		t.Error("no error for a pager that does not exist")
	}
}

func TestPageIsNotCutOffByACancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out bytes.Buffer
	if err := Page(ctx, "cat", strings.NewReader("x"), Streams{Out: &out, Err: io.Discard}, []string{"PATH=/usr/bin:/bin"}); err != nil || out.String() != "x" {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
