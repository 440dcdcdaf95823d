package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
)

// CorruptError says which line of a file is none. Nothing behind it is used in
// its stead.
type CorruptError struct {
	Path string
	Line int // from 1
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("session file %s: line %d: %v", e.Path, e.Line, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// content is what a file says.
type content struct {
	header  Header
	entries []*Entry
	whole   int64 // bytes that are whole lines; what is behind them was torn off
	ended   bool  // the last of them ends in a line feed
}

// parse reads a file. A last line that is not whole is left out.
func parse(path string, data []byte) (*content, error) {
	lines, ended := split(data)
	entries, fails := decodeAll(lines)
	c := &content{whole: int64(len(data)), ended: ended}
	if n := len(lines); n > 1 && !json.Valid(lines[n-1]) {
		c.whole -= int64(len(lines[n-1]))
		if ended {
			c.whole--
		}
		c.ended = true
		lines, entries = lines[:n-1], entries[:n-1]
	}
	corrupt := func(i int, err error) (*content, error) {
		return nil, &CorruptError{Path: path, Line: i + 1, Err: err}
	}
	if len(lines) == 0 {
		return corrupt(0, io.ErrUnexpectedEOF)
	}
	if err := c.readHeader(lines[0]); err != nil {
		return corrupt(0, err)
	}
	known := map[string]bool{"": true}
	for i := 1; i < len(lines); i++ {
		e := entries[i]
		err := fails[i]
		switch {
		case err != nil:
		case known[e.ID]:
			err = fmt.Errorf("there is an entry %q before", e.ID)
		case !known[e.ParentID]:
			err = fmt.Errorf("its parent %q does not come before it", e.ParentID)
		case !known[e.Target]:
			err = fmt.Errorf("its target %q does not come before it", e.Target)
		}
		if err != nil {
			return corrupt(i, err)
		}
		known[e.ID] = true
	}
	c.entries = entries[1:]
	return c, nil
}

func (c *content) readHeader(line []byte) error {
	if err := json.Unmarshal(line, &c.header); err != nil {
		return err
	}
	switch h := c.header; {
	case h.Type != typeHeader || h.ID == "":
		return errors.New("it is no header of a session")
	case h.Version > Version:
		return fmt.Errorf("version %d is later than %d, which this program knows", h.Version, Version)
	}
	return nil
}

// split gives the lines without their ends. Ended: nothing follows the last one.
func split(data []byte) (lines [][]byte, ended bool) {
	for len(data) > 0 {
		line, rest, found := bytes.Cut(data, []byte{'\n'})
		lines, data, ended = append(lines, line), rest, found
	}
	return lines, ended || len(lines) == 0
}

// decodeAll reads all lines but the first, on all processors. For each there is
// an entry or an error.
func decodeAll(lines [][]byte) ([]*Entry, []error) {
	entries, fails := make([]*Entry, len(lines)), make([]error, len(lines))
	var wg sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for first := range workers {
		wg.Go(func() {
			for i := first + 1; i < len(lines); i += workers {
				entries[i], fails[i] = decode(lines[i])
			}
		})
	}
	wg.Wait()
	return entries, fails
}

func decode(line []byte) (*Entry, error) {
	e := new(Entry)
	if err := json.Unmarshal(line, e); err != nil {
		return nil, err
	}
	return e, e.check()
}

// journal is a file that lines are appended to.
type journal struct {
	file *os.File
	size int64
	err  error // set once the file's end is not known any more
}

// append puts lines at the end of the file, all of them or none, and returns
// when they are on the disk.
func (j *journal) append(lines []byte) error {
	if j.err != nil {
		return j.err
	}
	_, err := j.file.Write(lines)
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		j.size += int64(len(lines))
		return nil
	}
	if back := j.restore(); back != nil {
		j.err = errors.Join(err, back)
	}
	return err
}

// restore takes back what an append has written before it failed: half a line
// must not stand before the next one.
func (j *journal) restore() error { return j.file.Truncate(j.size) }

// mend makes the file end with its last whole line. What is torn off goes to a
// file beside it.
func (j *journal) mend(c *content, data []byte) error {
	j.size = c.whole
	if torn := data[c.whole:]; len(torn) > 0 {
		if err := keepTorn(j.file.Name()+".torn", torn); err != nil {
			return fmt.Errorf("keep the torn line: %w", err)
		}
		if err := j.file.Truncate(c.whole); err != nil {
			return fmt.Errorf("cut the torn line: %w", err)
		}
	}
	if !c.ended {
		return j.append([]byte{'\n'})
	}
	return nil
}

func keepTorn(path string, torn []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(torn[:len(torn):len(torn)], '\n'))
	return errors.Join(err, f.Close())
}
