package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/files"
)

const (
	stateVersion = 1
	// maxFile is the largest state file or record that is read, in bytes.
	maxFile = 16 << 20
	// maxRecord is the largest live record that is read, in bytes.
	maxRecord = 1 << 20
)

// stateFile is the form of the state file.
type stateFile struct {
	Version int      `json:"version"`
	Windows []Window `json:"windows"`
}

// Load reads the state file at path into r. A file that is not there is an
// empty one. A file that cannot be understood is put aside as path + ".broken"
// and reported; r is empty then, and usable.
func (r *Registry) Load(path string) error {
	data, err := readFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read state file: %w", err)
	}
	var s stateFile
	if err := json.Unmarshal(data, &s); err != nil || s.Version != stateVersion {
		if err == nil {
			err = fmt.Errorf("version %d is not known", s.Version)
		}
		return fmt.Errorf("read state file %s: %w", path, errors.Join(err, os.Rename(path, path+".broken")))
	}
	for _, w := range s.Windows {
		if validID(w.ID) && w.Worktree != "" {
			r.windows[w.ID] = w
		}
	}
	return nil
}

// Store writes the state file at path, making its folder where needed.
func (r *Registry) Store(path string) error {
	data, err := json.Marshal(stateFile{Version: stateVersion, Windows: r.Windows()})
	if err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	if err := files.Replace(path, data); err != nil {
		return fmt.Errorf("write state file: %w", err)
	}
	return nil
}

// WriteRecord writes the live record of w, for other processes to see. A window
// outside a git work tree has none. The repository's common git directory is
// never made: fs.ErrNotExist says that it has gone.
func WriteRecord(w Window) error {
	if w.CommonDir == "" {
		return nil
	}
	data, err := json.Marshal(w)
	if err != nil {
		return fmt.Errorf("write record of pane %s: %w", w.ID, err)
	}
	dir := recordsDir(w.CommonDir)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("write record of pane %s: %w", w.ID, err)
		}
	}
	if err := files.Replace(filepath.Join(dir, w.ID+".json"), data); err != nil {
		return fmt.Errorf("write record of pane %s: %w", w.ID, err)
	}
	return nil
}

// RemoveRecord removes the live record of w.
func RemoveRecord(w Window) error {
	if w.CommonDir == "" {
		return nil
	}
	err := os.Remove(filepath.Join(recordsDir(w.CommonDir), w.ID+".json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove record of pane %s: %w", w.ID, err)
	}
	return nil
}

// ReadRecords reads the live records of a repository's windows, ordered by id.
// commonDir is its common git directory, absolute, symbolic links resolved.
// Files that are no record are left out and named in the error, which comes
// with the windows that could be read. Records that a copied or moved
// repository brought with it are left out.
func ReadRecords(commonDir string) ([]Window, error) {
	dir := recordsDir(commonDir)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read records of panes: %w", err)
	}
	var windows []Window
	var bad []error
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || !validID(id) {
			continue
		}
		w, err := readRecord(filepath.Join(dir, entry.Name()), id)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed since
		case err != nil:
			bad = append(bad, fmt.Errorf("read record of pane %s: %w", id, err))
		case w.CommonDir == commonDir:
			windows = append(windows, w)
		}
	}
	return windows, errors.Join(bad...)
}

// ReadRecord reads the live record of w as it is now; fs.ErrNotExist: there is
// none.
func ReadRecord(w Window) (Window, error) {
	if w.CommonDir == "" {
		return Window{}, fs.ErrNotExist
	}
	return readRecord(filepath.Join(recordsDir(w.CommonDir), w.ID+".json"), w.ID)
}

func readRecord(path, id string) (Window, error) {
	data, err := readFile(path, maxRecord)
	if err != nil {
		return Window{}, err
	}
	return parseRecord(data, id)
}

func parseRecord(data []byte, id string) (Window, error) {
	var w Window
	if err := json.Unmarshal(data, &w); err != nil {
		return Window{}, err
	}
	if w.ID != id {
		return Window{}, fmt.Errorf("it names itself %q", w.ID)
	}
	return w, nil
}

func recordsDir(commonDir string) string {
	return filepath.Join(commonDir, "turnback", "panes")
}

func validID(id string) bool {
	return len(id) >= idDigits && len(id) <= 64 && strings.Trim(id, "0123456789abcdef") == ""
}

// readFile reads a regular file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("larger than %d bytes", limit)
	}
	return data, err
}
