// Package patch reads unified diffs as git writes them.
package patch

import (
	"bytes"
	"io"
	"slices"
)

// Keeper is a writer that takes git's patch and keeps whole files of it within
// limits. Git writes the files of a patch in the order of its list. Past the
// limits of the whole, Write returns io.ErrShortWrite.
type Keeper struct {
	MaxFiles int
	MaxBytes int
	MaxLines int // of one file

	out  bytes.Buffer
	kept []bool // by file: its hunks are in out

	file    bytes.Buffer // the file being read
	lines   int          // of file
	tooLong bool
	rest    []byte // a line without its end
	open    bool
}

// fileStart begins every file of a patch, and no other line.
const fileStart = "diff --git "

// Write takes a piece of the patch.
func (w *Keeper) Write(p []byte) (int, error) {
	data := append(w.rest, p...)
	for {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			break
		}
		if err := w.line(data[:i+1]); err != nil {
			return len(p), err
		}
		data = data[i+1:]
	}
	if len(data) > w.MaxBytes {
		data, w.tooLong = data[:len(fileStart)], true // the rest of the line is of no use
	}
	w.rest = slices.Clone(data)
	return len(p), nil
}

func (w *Keeper) line(line []byte) error {
	if bytes.HasPrefix(line, []byte(fileStart)) {
		w.endFile()
		if len(w.kept) >= w.MaxFiles || w.out.Len() >= w.MaxBytes {
			return io.ErrShortWrite
		}
		w.open = true
	}
	w.lines++
	if w.lines > w.MaxLines || w.file.Len()+w.out.Len() > w.MaxBytes {
		w.tooLong = true
	}
	if !w.tooLong {
		w.file.Write(line)
	}
	return nil
}

// endFile moves the file that was read to the output, if it is short enough.
func (w *Keeper) endFile() {
	if w.open {
		w.kept = append(w.kept, !w.tooLong)
		if !w.tooLong {
			w.out.Write(w.file.Bytes())
		}
	}
	w.file.Reset()
	w.lines, w.tooLong, w.open = 0, false, false
}

// Kept tells for each file, in the order of the patch, whether it was kept.
func (w *Keeper) Kept() []bool { return w.kept }

// Finish ends the patch and returns what was kept of it.
func (w *Keeper) Finish() []byte {
	if len(w.rest) > 0 && !w.tooLong {
		w.file.Write(w.rest)
	}
	w.endFile()
	return w.out.Bytes()
}
