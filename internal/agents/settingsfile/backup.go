package settingsfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The backups of a file lie in the state directory, not beside the file, where
// a repository or another program would find them.
const (
	extLast   = ".last"   // the text before the newest change
	extBefore = ".before" // the text before turnback's first change
	extOrigin = ".json"   // what else is known of the file before that change
)

// Origin is what a file was before turnback changed it first.
type Origin struct {
	Path    string `json:"path"`
	Existed bool   `json:"existed"`
	HadDir  bool   `json:"had_dir"` // its folder existed
	Text    []byte `json:"-"`       // nil when it did not exist
}

// Backup is the path of the text before the newest change.
func (f File) Backup() string { return f.backup(extLast) }

func (f File) backup(ext string) string {
	sum := sha256.Sum256([]byte(f.Path))
	return filepath.Join(f.StateDir, "backup", f.Agent+"-"+hex.EncodeToString(sum[:4])+ext)
}

// NoteOrigin keeps what the file is now, before the first change is made.
func (p Plan) NoteOrigin() error {
	_, err := os.Stat(filepath.Dir(p.Target))
	record, err := json.Marshal(Origin{Path: p.Path, Existed: p.Existed, HadDir: err == nil})
	if err != nil {
		return fmt.Errorf("encode the origin of the settings: %w", err)
	}
	if err := p.keep(extBefore, p.Old); err != nil {
		return err
	}
	return p.keep(extOrigin, record)
}

// Origin returns what NoteOrigin kept; ok is false when there is nothing.
func (f File) Origin() (o Origin, ok bool) {
	record, err := os.ReadFile(f.backup(extOrigin))
	if err != nil || json.Unmarshal(record, &o) != nil || o.Path != f.Path {
		return Origin{}, false
	}
	if o.Existed {
		if o.Text, err = os.ReadFile(f.backup(extBefore)); err != nil {
			return Origin{}, false
		}
	}
	return o, true
}

// ForgetOrigin ends what NoteOrigin began, and removes the folder that the file
// was made in, if it was made for it and is empty.
func (f File) ForgetOrigin() error {
	o, ok := f.Origin()
	if ok && !o.HadDir {
		// Something else may be in the folder by now; then it stays.
		_ = os.Remove(filepath.Dir(f.Path))
	}
	var failed error
	for _, ext := range []string{extBefore, extOrigin} {
		if err := os.Remove(f.backup(ext)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, fmt.Errorf("remove a backup: %w", err))
		}
	}
	return failed
}

func (p Plan) keepOld() error {
	if !p.Existed {
		return nil
	}
	return p.keep(extLast, p.Old)
}

// keep writes a backup. Settings may hold secrets.
func (f File) keep(ext string, text []byte) error {
	path := f.backup(ext)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the folder of backups: %w", err)
	}
	if err := replace(path, text, 0o600); err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	return nil
}
