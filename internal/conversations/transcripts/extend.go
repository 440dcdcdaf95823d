package transcripts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// piece is how much of a file is looked at in one go, in bytes.
const piece = 256 << 10

// extend makes the file at path a copy of the whole lines of from, at most most
// bytes of them (negative: no limit). full: from has more. Lines that the copy has
// stay when from has no longer room.
func extend(path string, from *os.File, most int64) (full bool, err error) {
	info, err := from.Stat()
	if err != nil {
		return false, fmt.Errorf("look at the transcript: %w", err)
	}
	size := info.Size()
	end := size
	if most >= 0 {
		end = min(size, most)
	}
	to, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return false, fmt.Errorf("open the copy of the transcript: %w", err)
	}
	have, err := to.Seek(0, io.SeekEnd)
	if err == nil && !(have <= size && same(to, from, have)) {
		return size > end, errors.Join(to.Close(), anew(path, from, end))
	}
	if err == nil {
		err = appendLines(to, from, have, end)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return false, fmt.Errorf("copy the transcript: %w", err)
	}
	return size > end, nil
}

// anew puts a copy of the first whole lines of from in the place of the one at
// path.
func anew(path string, from *os.File, end int64) error {
	to, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return fmt.Errorf("copy the transcript anew: %w", err)
	}
	err = appendLines(to, from, 0, end)
	if err = errors.Join(err, to.Close()); err == nil {
		err = os.Rename(to.Name(), path)
	}
	if err != nil {
		if rerr := os.Remove(to.Name()); !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
		return fmt.Errorf("copy the transcript anew: %w", err)
	}
	return nil
}

// same says whether two files have the same n bytes at their beginning.
func same(a, b io.ReaderAt, n int64) bool {
	var left, right [piece]byte
	for at := int64(0); at < n; at += piece {
		want := min(piece, n-at)
		_, errA := io.ReadFull(io.NewSectionReader(a, at, want), left[:want])
		_, errB := io.ReadFull(io.NewSectionReader(b, at, want), right[:want])
		if errA != nil || errB != nil || !bytes.Equal(left[:want], right[:want]) {
			return false
		}
	}
	return true
}

// appendLines adds the whole lines of from between start and end.
func appendLines(to *os.File, from io.ReaderAt, start, end int64) error {
	end, err := lineEnd(from, start, end)
	if err != nil || end <= start {
		return err
	}
	if _, err := io.Copy(to, io.NewSectionReader(from, start, end-start)); err != nil {
		return err
	}
	return to.Sync()
}

// lineEnd is the end of the last line that ends between start and end; start when
// none does.
func lineEnd(from io.ReaderAt, start, end int64) (int64, error) {
	var text [piece]byte
	for end > start {
		at := max(start, end-piece)
		part := text[:end-at]
		if _, err := io.ReadFull(io.NewSectionReader(from, at, end-at), part); err != nil {
			return start, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		end = at
	}
	return start, nil
}
