package transcripts

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Mentioning finds the copies that may hold something of a path of a repository,
// which is relative to the root of its work tree, with slashes. Of sessions that
// worked there it is those that have the path's last name anywhere, for a command
// may name it from any folder, and all of them when that name may be written in
// several ways. Of other sessions it is those that name the whole path. Copies
// that cannot be looked at are an error.
func (s Shelf) Mentioning(link Link, p string) ([]Copy, error) {
	copies, err := s.List()
	if err != nil {
		return nil, err
	}
	var found []Copy
	for _, c := range copies {
		worked := slices.ContainsFunc(c.Links, func(l Link) bool { return l.CommonDir == link.CommonDir })
		has, err := MayHold(c.File, worked, link.Worktree, p)
		if err != nil {
			return nil, err
		}
		if has {
			found = append(found, c)
		}
	}
	return found, nil
}

// MayHold says whether a file about a session may hold something of a path, as
// Mentioning does; worked: the session worked in the path's repository.
func MayHold(file string, worked bool, worktree, p string) (bool, error) {
	name := filepath.Join(worktree, filepath.FromSlash(p))
	if worked {
		name = path.Base(p)
	}
	if worked && !plain(name) {
		return true, nil
	}
	return mentions(file, []byte(name))
}

// plain says whether a name stands in JSON, and in JSON within JSON, as it is.
func plain(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' })
}

// mentions says whether a file has some bytes in it. One that has gone has not.
func mentions(file string, what []byte) (has bool, err error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	text := make([]byte, 0, piece+len(what))
	for {
		n, err := io.ReadFull(f, text[len(text):cap(text)])
		text = text[:len(text)+n]
		if bytes.Contains(text, what) {
			return true, nil
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		text = append(text[:0], text[len(text)-(len(what)-1):]...) // what may begin here
	}
}
