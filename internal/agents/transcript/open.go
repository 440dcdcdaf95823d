package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// MaxLine bounds a line of a transcript that is looked at, in bytes.
const MaxLine = 64 << 20

// ReadLine is the next line; one that is longer than [MaxLine] comes as none.
func ReadLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line) <= MaxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > MaxLine {
				line = nil
			}
			return line, err
		}
	}
}

// Open opens the transcript at path to read it: a plain file of this user's, at
// least one and at most depth folders below folder, which may be named through
// symbolic links. No link below it is followed.
func Open(folder, path string, depth int) (*os.File, error) {
	rel, ok := below(folder, path, depth)
	if !ok {
		return nil, errors.New("the transcript is not in the agent's own folder")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("open the agent's folder: %w", err)
	}
	defer root.Close()
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
		info, err := root.Lstat(dir)
		if err == nil && !info.IsDir() {
			err = errors.New("it is not in a folder")
		}
		if err != nil {
			return nil, fmt.Errorf("look at the transcript: %w", err)
		}
	}
	return openPlain(root, rel)
}

// openPlain opens a plain file of this user's.
func openPlain(root *os.Root, name string) (*os.File, error) {
	was, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("look at the transcript: %w", err)
	}
	if !was.Mode().IsRegular() || !ours(was) {
		return nil, errors.New("the transcript is no plain file of yours")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|notWaiting, 0)
	if err != nil {
		return nil, fmt.Errorf("open the transcript: %w", err)
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(was, is) {
		return nil, errors.Join(errors.New("the transcript was replaced while it was opened"), err, f.Close())
	}
	return f, nil
}

// below is the path of a transcript as seen from the folder of transcripts.
func below(folder, path string, depth int) (string, bool) {
	folders := []string{folder}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folders = append(folders, real)
	}
	for _, f := range folders {
		rel, err := filepath.Rel(f, path)
		if n := strings.Count(rel, string(filepath.Separator)); err == nil && filepath.IsLocal(rel) && n >= 1 && n <= depth {
			return rel, true
		}
	}
	return "", false
}

// Tail is the end of the file at path, at most most bytes. Its first line may be
// cut, and its last one half-written.
func Tail(path string, most int64) ([]byte, error) {
	// Opening a FIFO would wait for its writer.
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(errors.New("not a regular file"), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	start := max(0, info.Size()-most)
	return io.ReadAll(io.NewSectionReader(f, start, info.Size()-start))
}
