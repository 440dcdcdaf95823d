package snapshot

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/turnback/turnback/internal/files"
)

// ChangedSince names those of paths, relative to root, that were written,
// created, moved or removed since then, as far as the times of files and folders
// tell. What cannot be looked at counts.
func ChangedSince(root string, paths []string, since time.Time) []string {
	since = since.Add(-clockStep)
	var out []string
	for _, p := range paths {
		info, err := os.Lstat(filepath.Join(root, p))
		if errors.Is(err, fs.ErrNotExist) {
			info, err = nearestFolder(root, p)
		}
		if err != nil || !info.ModTime().Before(since) || !files.ChangeTime(info).Before(since) {
			out = append(out, p)
		}
	}
	return out
}

// nearestFolder looks at the innermost folder above path that there is: it
// changed when what was in it was removed.
func nearestFolder(root, path string) (fs.FileInfo, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(filepath.Join(root, dir))
		if err == nil || dir == "." {
			return info, err
		}
	}
}
