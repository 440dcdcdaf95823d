package retention_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/checkpoint/retention"
)

// pane makes checkpoints from words: kind and turn, and after a colon the age in
// hours; "t3" is a turn's, "s" a start's, "f" a safety, "m" a manual, "c" a
// conversation checkpoint, "x" a damaged one.
func pane(words string, now time.Time) []record.Checkpoint {
	kinds := map[byte]record.Kind{'t': record.KindTurn, 's': record.KindStart, 'f': record.KindSafety, 'm': record.KindManual, 'c': record.KindConversation, 'x': ""}
	var out []record.Checkpoint
	for i, w := range strings.Fields(words) {
		c := record.Checkpoint{N: i + 1, Kind: kinds[w[0]], Pane: record.Pane{ID: "p"}}
		hours := 0
		if _, err := fmt.Sscanf(w[1:], "%d:%d", &c.Turn, &hours); err != nil && c.Turn == 0 {
			panic(w)
		}
		c.At = now.Add(-time.Duration(hours) * time.Hour)
		if w[0] == 'x' {
			c.Damaged = "it is"
		}
		out = append(out, c)
	}
	return out
}

func numbers(list []record.Checkpoint) string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprint(c.N))
	}
	return strings.Join(out, " ")
}

func TestExpired(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	month := 30 * 24 * time.Hour
	gone := func(string) bool { return true }
	for name, c := range map[string]struct {
		rules retention.Rules
		pane  string
		want  string
	}{
		"a turn's start, pauses and end go together": {retention.Rules{Keep: 2}, "s1 t1 t1 s2 t2 s3 t3 t3", "1 2 3"},
		"a start of a turn that is open counts":      {retention.Rules{Keep: 2}, "t1 t2 s3", "1"},
		"nothing past the limit":                     {retention.Rules{Keep: 3}, "s1 t1 t2 t3", ""},
		"keep below one keeps one":                   {retention.Rules{Keep: 0}, "t1 t2", "1"},
		"manual ones stay":                           {retention.Rules{Keep: 1}, "m1 t1 m1 t2", "2"},
		"B146 conversations push no files out":       {retention.Rules{Keep: 2}, "t1 t2 c3 c4 c5", "3"},
		"a conversation goes with its turn":          {retention.Rules{Keep: 1}, "t1 c1 t2 c3", "1 2"},
		"those that cannot be read stay":             {retention.Rules{Keep: 1}, "x1 t1 x2 t2", "2"},
		"safeties have a limit of their own":         {retention.Rules{Keep: 1}, "t1 " + strings.Repeat("f1:30 ", 22), "2 3"},
		"a young safety stays":                       {retention.Rules{Keep: 1}, strings.Repeat("f1:23 ", 30), ""},
		"B106 pins stay":                             {retention.Rules{Keep: 1, Pinned: func(p string, n int) bool { return p == "p" && n == 2 }}, "t1 t2 t3", "1"},
		"a pane that is gone keeps its newest turn":  {retention.Rules{Keep: 50, GoneFor: month, Gone: gone}, "t1:900 m1:900 s2:800 t2:800 f2:790", "1 5"},
		"gone, but not for long":                     {retention.Rules{Keep: 50, GoneFor: month, Gone: gone}, "t1:900 t2:719", ""},
		"idle for long, but there":                   {retention.Rules{Keep: 50, GoneFor: month, Gone: func(string) bool { return false }}, "t1:900 t2:800", ""},
		"nobody knows whether it is gone":            {retention.Rules{Keep: 50, GoneFor: month}, "t1:900 t2:800", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.rules.Now = now
			if got := numbers(c.rules.Expired(pane(c.pane, now))); got != c.want {
				t.Errorf("expired %q, want %q", got, c.want)
			}
		})
	}
}

func TestOld(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	rules := retention.Rules{Now: now, Pinned: func(_ string, n int) bool { return n == 4 }}
	if got := numbers(rules.Old(pane("t1:50 m1:50 x1:50 f1:50 t2:50 t3:9 t4:50", now), 10*time.Hour)); got != "1 5" {
		t.Errorf("old %q, want 1 5", got)
	}
}

// TestWhatIsKeptStays applies the rules twice, and looks at what must never go.
func TestWhatIsKeptStays(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		var words []string
		turn := 1
		for range rapid.IntRange(0, 60).Draw(rt, "count") {
			turn += rapid.IntRange(0, 1).Draw(rt, "next")
			words = append(words, fmt.Sprintf("%s%d:%d", rapid.SampledFrom([]string{"t", "s", "f", "m", "c", "x"}).Draw(rt, "kind"), turn, rapid.IntRange(0, 100).Draw(rt, "age")))
		}
		all := pane(strings.Join(words, " "), now)
		rules := retention.Rules{Now: now, Keep: rapid.IntRange(1, 10).Draw(rt, "keep")}
		gone := rules.Expired(all)
		isGone := func(c record.Checkpoint) bool {
			return slices.ContainsFunc(gone, func(g record.Checkpoint) bool { return g.N == c.N })
		}
		turns := map[int]bool{}
		for _, c := range slices.Backward(all) {
			if c.Kind == record.KindTurn || c.Kind == record.KindStart {
				turns[c.Turn] = true
				if isGone(c) != (len(turns) > rules.Keep) {
					rt.Fatalf("%d of turn %d, the newest but %d: gone %v", c.N, c.Turn, len(turns)-1, isGone(c))
				}
			}
			if isGone(c) && (c.Kind == record.KindManual || c.Damaged != "") {
				rt.Fatalf("%+v is gone", c)
			}
		}
		left := slices.DeleteFunc(slices.Clone(all), isGone)
		if again := rules.Expired(left); len(again) > 0 {
			rt.Fatalf("a second pass takes %s more", numbers(again))
		}
	})
}
