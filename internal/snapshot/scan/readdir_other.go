//go:build !unix

package scan

import (
	"errors"
	"io/fs"
	"os"
)

// found is a name in a directory with its stat data.
type found struct {
	name string
	kind kind
	stat stat
}

func readDir(path string, _ []byte, _ []string) ([]found, bool, error) {
	names, err := os.ReadDir(path)
	if err != nil {
		return nil, false, err
	}
	list := make([]found, 0, len(names))
	for _, d := range names {
		k, st, err := lstat(path + "/" + d.Name())
		if err != nil {
			return nil, false, err
		}
		if k != absent {
			list = append(list, found{name: d.Name(), kind: k, stat: st})
		}
	}
	return list, true, nil
}

func lstat(path string) (kind, stat, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return absent, stat{}, nil
	}
	if err != nil {
		return absent, stat{}, err
	}
	st := stat{mtime: info.ModTime().UnixNano(), size: info.Size(), mode: uint32(info.Mode())}
	switch {
	case info.Mode().IsRegular():
		return regular, st, nil
	case info.Mode()&fs.ModeSymlink != 0:
		return link, st, nil
	case info.IsDir():
		return directory, st, nil
	}
	return special, st, nil
}

func readable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// openFile opens the regular file at path; size is in bytes.
func openFile(path string) (file *os.File, size int64, err error) {
	if file, err = os.Open(path); err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}
