package snapshot

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

const (
	maxTouched = 5000                  // files of a left-out folder that are looked at
	clockStep  = 20 * time.Millisecond // how far a file's times lag behind the clock
)

// Touched names those of left in which a file was written since then, below root.
func Touched(root string, left []LeftOut, since time.Time) []LeftOut {
	var out []LeftOut
	since = since.Add(-clockStep)
	for _, l := range left {
		seen, written := 0, false
		_ = filepath.WalkDir(filepath.Join(root, l.Path), func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return fs.SkipDir
			}
			if d.IsDir() && d.Name() == "objects" {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err == nil && !d.IsDir() && !info.ModTime().Before(since) {
				written = true
			}
			if seen++; written || seen > maxTouched {
				return fs.SkipAll
			}
			return nil
		})
		if written {
			out = append(out, l)
		}
	}
	return out
}

// Reasons gives the reason for which a path is left out.
type Reasons map[string]string

// ByPath makes Reasons of a list.
func ByPath(list []LeftOut) Reasons {
	r := make(Reasons, len(list))
	for _, l := range list {
		r[l.Path] = l.Reason
	}
	return r
}

// At gives the reason of file, or of what is above it; empty: there is none.
func (r Reasons) At(file string) string {
	_, reason := r.Over(file)
	return reason
}

// Over gives the path that is left out at file or above it, and its reason.
func (r Reasons) Over(file string) (path, reason string) {
	for dir := file; len(r) > 0; {
		if reason := r[dir]; reason != "" {
			return dir, reason
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			break
		}
		dir = dir[:i]
	}
	return "", ""
}
