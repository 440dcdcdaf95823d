package lfs_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/checkpoint/lfs"
)

func pointerTo(content string) (lfs.Pointer, string) {
	sum := sha256.Sum256([]byte(content))
	p := lfs.Pointer{OID: hex.EncodeToString(sum[:]), Size: int64(len(content))}
	return p, fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", p.OID, p.Size)
}

func TestPointers(t *testing.T) {
	want, text := pointerTo("hello\n")
	if got, ok := lfs.ParsePointer([]byte(text)); !ok || got != want {
		t.Errorf("got %+v, %t, want %+v", got, ok, want)
	}
	for name, bad := range map[string]string{
		"empty":           "",
		"text":            "version 2 of my novel\n",
		"cut":             text[:60],
		"an extension":    strings.Replace(text, "oid ", "ext-0-x sha256:"+want.OID+"\noid ", 1),
		"twice":           text + "size 6\n",
		"a path":          strings.Replace(text, want.OID, "../"+want.OID[3:], 1),
		"capital letters": strings.Replace(text, want.OID, strings.ToUpper(want.OID), 1),
		"a negative size": strings.Replace(text, "size 6", "size -6", 1),
		"too long":        text + strings.Repeat("x", lfs.MaxPointer),
	} {
		if p, ok := lfs.ParsePointer([]byte(bad)); ok {
			t.Errorf("%s is taken for the pointer %+v", name, p)
		}
	}
}

// stored is a store that has content in the storage of git-lfs.
func stored(t *testing.T, content string) (lfs.Store, lfs.Pointer, string) {
	t.Helper()
	dir := t.TempDir()
	p, _ := pointerTo(content)
	s := lfs.Store{Storage: filepath.Join(dir, "lfs", "objects"), Kept: filepath.Join(dir, "turnback", "lfs")}
	file := filepath.Join(s.Storage, p.OID[:2], p.OID[2:4], p.OID)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
	return s, p, file
}

func TestKeptContentOutlivesTheStorage(t *testing.T) {
	s, p, file := stored(t, "hello\n")
	kept, err := s.Keep(t.Context(), []lfs.Pointer{p, {OID: strings.Repeat("0", 64), Size: 1}})
	if err != nil || len(kept) != 1 || kept[0] != p {
		t.Fatalf("kept are %+v, %v", kept, err)
	}
	a, _ := os.Stat(file)
	b, err := os.Stat(filepath.Join(s.Kept, p.OID[:2], p.OID[2:4], p.OID))
	if err != nil || !os.SameFile(a, b) {
		t.Errorf("the content is kept as a copy: %v", err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Find(p); !ok || lfs.Check(got, p) != nil {
		t.Errorf("the content is gone: %q, %t", got, ok)
	}
	if err := s.GiveBack(t.Context(), p); err != nil || lfs.Check(file, p) != nil {
		t.Errorf("the content did not come back: %v", err)
	}
}

func TestCorruptContentIsNotGivenBack(t *testing.T) {
	s, p, file := stored(t, "hello\n")
	if _, err := s.Keep(t.Context(), []lfs.Pointer{p}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(file, []byte("jello\n"), 0o644), os.Remove(file)); err != nil {
		t.Fatal(err)
	}
	if err := s.GiveBack(t.Context(), p); !errors.Is(err, lfs.ErrCorrupt) {
		t.Errorf("got error %v, want ErrCorrupt", err)
	}
}

func TestSweepLetsGoOfWhatIsOldAndNotNeeded(t *testing.T) {
	s, p, _ := stored(t, "hello\n")
	ctx := t.Context()
	if _, err := s.Keep(ctx, []lfs.Pointer{p}); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name   string
		needed map[string]bool
		before time.Time
		want   int64
	}{
		{"young", nil, time.Now().Add(-time.Hour), 0},
		{"needed", map[string]bool{p.OID: true}, later, 0},
		{"neither", nil, later, p.Size},
		{"gone", nil, later, 0},
	} {
		if got, err := s.Sweep(ctx, c.needed, c.before); err != nil || got != c.want {
			t.Errorf("%s: %d bytes freed, %v; want %d", c.name, got, err, c.want)
		}
	}
}
