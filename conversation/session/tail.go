package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// tailSize is how much of a session file's end is read for its leaf: more than the
// largest message takes.
const tailSize = 8 << 20

// LeafOf is the entry that the session file at path ends with now, whoever has it
// open: what [Session.Leaf] of it is. It reads the file's end alone.
func LeafOf(path string) (string, error) {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return "", errors.Join(errors.New("the session is no file that can be read"), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open the session: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("look at the session: %w", err)
	}
	start := max(0, info.Size()-tailSize)
	end, err := io.ReadAll(io.NewSectionReader(f, start, info.Size()-start))
	if err != nil {
		return "", fmt.Errorf("read the session: %w", err)
	}
	whole := end[:bytes.LastIndexByte(end, '\n')+1] // the rest is torn, or being written
	line := bytes.TrimSuffix(whole, []byte("\n"))
	line = line[bytes.LastIndexByte(line, '\n')+1:]
	if start > 0 && len(line) == len(whole)-1 {
		return "", errors.New("the session's last entry is too large")
	}
	var e struct {
		ID       string  `json:"id"`
		ParentID *string `json:"parentId"` // nil: of a header
		Type     Type    `json:"type"`
		Target   string  `json:"targetId"`
	}
	switch err := json.Unmarshal(line, &e); {
	case err != nil:
		return "", fmt.Errorf("read the session's last entry: %w", err)
	case e.ParentID == nil:
		return "", nil
	case e.Type == TypeLeaf:
		return e.Target, nil
	}
	return e.ID, nil
}
