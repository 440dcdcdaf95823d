package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestLogFileIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	l := openLog(path, 100)
	line := func(n int) string { return fmt.Sprintf("%d %s\n", n, strings.Repeat("x", 57)) } // 60 bytes: one a file
	for n := range 6 {
		if _, err := l.Write([]byte(line(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"": line(5), ".1": line(4), ".2": line(3), ".3": line(2)}
	for suffix, text := range want {
		got, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != text {
			t.Errorf("daemon.log%s holds %q, want %q", suffix, got, text)
		}
	}
	if _, err := os.Stat(path + ".4"); err == nil {
		t.Error("a fourth old file is kept")
	}
}

func TestLogFileGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	for n := range 3 {
		l := openLog(path, 10)
		if _, err := fmt.Fprintf(l, "%d....\n", n); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "2....\n" {
		t.Errorf("the log holds %q: its size before was not counted", got)
	}
}

func TestLogFileComesBackWhenItCan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "daemon.log")
	l := openLog(path, 100)
	if _, err := l.Write([]byte("lost\n")); err == nil || l.problem() == nil {
		t.Error("a line without a folder: no error")
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("kept\n")); err != nil || l.problem() != nil {
		t.Errorf("with the folder: %v, %v", err, l.problem())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Write([]byte("late\n")); err == nil {
		t.Error("a line after Close: no error")
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "kept\n" {
		t.Errorf("the log holds %q, %v", got, err)
	}
}

func TestLogFileKeepsLinesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "daemon.log")
	l := openLog(path, 1000)
	var writers sync.WaitGroup
	line := strings.Repeat("y", 49) + "\n"
	for range 8 {
		writers.Go(func() {
			for range 20 {
				if _, err := l.Write([]byte(line)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(got), line, "") != "" {
		t.Errorf("torn lines: %q", got)
	}
}
