package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Journal says what a run is about to do. It is there from before the first
// change until after the last.
type Journal struct {
	Format  int       `json:"format"`
	RunID   string    `json:"run_id"` // as Run.ID
	Action  string    `json:"action"` // restore, undo, redo
	Pane    string    `json:"pane"`   // the pane's id
	Window  string    `json:"window"`
	Session string    `json:"session"`
	Turn    int       `json:"turn"`
	N       int       `json:"n"`      // the checkpoint that is restored; 0: a turn's base
	Safety  int       `json:"safety"` // the safety checkpoint
	Started time.Time `json:"started"`
	Ops     []Op      `json:"ops"`
	Folders []string  `json:"folders,omitempty"` // those that the ops have to make, outermost first
	// After is what the caller has to note once the run is complete; opaque here.
	After json.RawMessage `json:"after,omitempty"`
}

const journalFormat = 1

// ErrJournal says that a journal cannot be read.
var ErrJournal = errors.New("the journal of a restore cannot be read")

// WriteJournal puts j at path, on the disk for good.
func WriteJournal(path string, j Journal) error {
	j.Format = journalFormat
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "journal-")
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// ReadJournal reads the journal at path; nil where there is none.
func ReadJournal(path string) (*Journal, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrJournal, err)
	}
	var j Journal
	if err := json.Unmarshal(data, &j); err != nil || j.Format != journalFormat {
		return nil, fmt.Errorf("%w: %s", ErrJournal, path)
	}
	return &j, nil
}

// RemoveJournal ends a run.
func RemoveJournal(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the journal: %w", err)
	}
	return nil
}
