package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	const rest = " 4194304 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3"
	tests := []struct {
		name, line string
		want       Process
	}{
		{
			"plain", "42 (claude) S 40 42 40 34819 42" + rest,
			Process{PID: 42, Parent: 40, Session: 40, Name: "claude", TTY: "/dev/pts/3", Started: "987654"},
		},
		{
			"a name with blanks and parentheses", "42 (a) Z 9 (b c) S 40 42 41 0 -1" + rest,
			Process{PID: 42, Parent: 40, Session: 41, Name: "a) Z 9 (b c", Started: "987654"},
		},
		{
			"a zombie", "42 (x) Z 40 42 40 1025 42" + rest,
			Process{PID: 42, Parent: 40, Session: 40, Name: "x", TTY: "/dev/tty1", Started: "987654", Zombie: true},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parseStat([]byte(tt.line))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("parseStat (-want +got):\n%s", diff)
			}
		})
	}
	for _, line := range []string{"", "42", "42 (x", ") 42 (", "x (y) S 1 1 1 0 0" + rest, "42 (x) S 1 1", "42 (x) S a 1 1 0 0" + rest} {
		if p, err := parseStat([]byte(line)); err == nil {
			t.Errorf("parseStat(%q) = %+v, want an error", line, p)
		}
	}
}

func TestTTYName(t *testing.T) {
	tests := map[uint32]string{
		0:                     "",
		136<<8 | 3:            "/dev/pts/3",
		136<<8 | 1<<20 | 0x2c: "/dev/pts/300", // minor 300 = 0x12c
		137 << 8:              "/dev/pts/1048576",
		4<<8 | 1:              "/dev/tty1",
		4<<8 | 64:             "/dev/ttyS0",
		229 << 8:              "dev:229:0",
	}
	for dev, want := range tests {
		if got := ttyName(dev); got != want {
			t.Errorf("ttyName(%#x) = %q, want %q", dev, got, want)
		}
	}
}

func TestVariableIsOfTheStart(t *testing.T) {
	p := start(t, exec("TURNBACK_PROBE=a=b", "sleep", "60"))
	// A program that has just begun has no environment yet.
	for deadline := time.Now().Add(10 * time.Second); Variable(p, "TURNBACK_PROBE") == "" && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if got := Variable(p, "TURNBACK_PROBE"); got != "a=b" {
		t.Errorf("Variable = %q, want %q", got, "a=b")
	}
	if got := Variable(p, "TURNBACK"); got != "" {
		t.Errorf("Variable of a name that is only a prefix = %q, want nothing", got)
	}
	if got := Variable(0, "PATH"); got != "" {
		t.Errorf("Variable of no process = %q, want nothing", got)
	}
}

func TestStartedHoldsTheBoot(t *testing.T) {
	p, err := Lookup(1)
	if err != nil {
		t.Fatal(err)
	}
	boot, ticks, ok := strings.Cut(p.Started, ":")
	if !ok || len(boot) != 36 || ticks == "" {
		t.Errorf("Started = %q, want a boot id and a time", p.Started)
	}
}
