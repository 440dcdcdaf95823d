package config_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/config"
)

// settle is a clock that is far past every file's time stamp, so that the
// watcher trusts stat data alone.
func settle() time.Time { return time.Now().Add(time.Hour) }

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func keep(c config.Config) int { return c.Agents.Checkpoints.Keep }

func keepIs(n string) string { return "[agents.checkpoints]\nkeep = " + n + "\n" }

func TestWatcherReadsAgainAtUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	w := config.NewWatcher(path, settle, nil)
	if got := keep(w.Get()); got != 50 {
		t.Fatalf("without a file keep = %d, want 50", got)
	}
	writeFile(t, path, keepIs("7"))
	if got := keep(w.Get()); got != 7 {
		t.Errorf("after the file was made keep = %d, want 7", got)
	}
	writeFile(t, path, keepIs("123"))
	if got := keep(w.Get()); got != 123 {
		t.Errorf("after a change keep = %d, want 123", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := keep(w.Get()); got != 50 {
		t.Errorf("after the file was removed keep = %d, want 50", got)
	}
}

func TestWatcherKeepsTheLastGoodValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	writeFile(t, path, keepIs("7"))
	w := config.NewWatcher(path, settle, nil)
	writeFile(t, path, "keep = = 8\n")
	if got := keep(w.Get()); got != 7 {
		t.Errorf("with a broken file keep = %d, want 7", got)
	}
	if w.Err() == nil {
		t.Error("a broken file gives no error")
	}
	writeFile(t, path, keepIs("9"))
	if got := keep(w.Get()); got != 9 {
		t.Errorf("with the file mended keep = %d, want 9", got)
	}
	if err := w.Err(); err != nil {
		t.Errorf("with the file mended: %v", err)
	}
}

func TestWatcherStartsWithABrokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	writeFile(t, path, "nonsense")
	w := config.NewWatcher(path, settle, nil)
	if got := keep(w.Get()); got != 50 || w.Err() == nil {
		t.Errorf("keep = %d, error %v; want the default and an error", got, w.Err())
	}
}

// A second write within the file system's clock tick leaves size and time stamp
// as they were: a young file is read again each time.
func TestWatcherDoesNotTrustAYoungTimeStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	stamp := time.Now()
	write := func(text string) {
		t.Helper()
		writeFile(t, path, text)
		if err := os.Chtimes(path, stamp, stamp); err != nil {
			t.Fatal(err)
		}
	}
	write(keepIs("7"))
	now := stamp.Add(time.Millisecond)
	w := config.NewWatcher(path, func() time.Time { return now }, nil)
	write(keepIs("8"))
	if got := keep(w.Get()); got != 8 {
		t.Errorf("keep = %d, want 8", got)
	}
	now = stamp.Add(time.Second)
	if got := keep(w.Get()); got != 8 {
		t.Errorf("settled: keep = %d, want 8", got)
	}
	write(keepIs("9")) // a time stamp set by hand is not seen, which shows that a settled file is not read
	if got := keep(w.Get()); got != 8 {
		t.Errorf("a settled file was read again: keep = %d", got)
	}
}

// An editor empties the file before it writes: that is no wish for the defaults.
func TestWatcherWaitsForAFileThatWasJustEmptied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	writeFile(t, path, keepIs("7"))
	now := time.Now().Add(time.Hour)
	w := config.NewWatcher(path, func() time.Time { return now }, nil)
	writeFile(t, path, "")
	now = time.Now()
	if got := keep(w.Get()); got != 7 {
		t.Errorf("just emptied: keep = %d, want 7", got)
	}
	now = now.Add(time.Hour)
	if got := keep(w.Get()); got != 50 {
		t.Errorf("empty for long: keep = %d, want 50", got)
	}
}

func TestWatcherTellsOfEachChangeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	var told []string
	w := config.NewWatcher(path, settle, func(c config.Config, err error) {
		what := "good"
		if err != nil {
			what = "broken"
		}
		told = append(told, what)
	})
	steps := []struct{ text, want string }{
		{keepIs("7"), "good"},
		{"# a comment\n" + keepIs("7"), ""}, // no value has changed
		{"nonsense", "broken"},
		{"nonsense", ""},
		{"other nonsense", ""}, // the same fault at the same place
		{keepIs("7"), "good"},
	}
	for i, s := range steps {
		told = nil
		writeFile(t, path, s.text)
		w.Get()
		w.Get()
		got := ""
		if len(told) > 0 {
			got = told[0]
		}
		if got != s.want || len(told) > 1 {
			t.Errorf("step %d (%q): told %q, want %q", i, s.text, told, s.want)
		}
	}
}

func TestWatcherRunNoticesAChangeThatNobodyAsksFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	changed := make(chan config.Config, 8)
	w := config.NewWatcher(path, settle, func(c config.Config, err error) {
		if err == nil {
			changed <- c
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx, time.Millisecond) })
	temp := path + ".new"
	writeFile(t, temp, keepIs("7"))
	if err := os.Rename(temp, path); err != nil {
		t.Fatal(err)
	}
	select {
	case c := <-changed:
		if keep(c) != 7 {
			t.Errorf("keep = %d, want 7", keep(c))
		}
	case <-time.After(10 * time.Second):
		t.Error("the change was not noticed")
	}
	cancel()
	running.Wait()
}

func TestWatcherIsSafeForManyReaders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	w := config.NewWatcher(path, time.Now, func(config.Config, error) {})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 50 {
				if k := keep(w.Get()); k != 50 && k != 7 {
					t.Errorf("keep = %d", k)
				}
			}
		})
	}
	writeFile(t, path, keepIs("7"))
	readers.Wait()
}
