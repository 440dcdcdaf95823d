package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/turnback/turnback/internal/files"
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
	Folders []Folder  `json:"folder_ops,omitempty"` // those that the ops make, and those that no file tells of
	Again   bool      `json:"again,omitempty"`      // the tree that the run leaves can only be known by another look
	Half    string    `json:"half,omitempty"`       // tag of what belongs to the run beside the files
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
	if err := files.ReplaceDurably(path, data); err != nil {
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
	j, err := parseJournal(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrJournal, path, err)
	}
	return j, nil
}

func parseJournal(data []byte) (*Journal, error) {
	var j Journal
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	if j.Format != journalFormat {
		return nil, fmt.Errorf("format %d is not known", j.Format)
	}
	if err := j.check(); err != nil {
		return nil, err
	}
	return &j, nil
}

// check refuses a journal that would lead out of the work tree: it may have come
// with the repository.
func (j *Journal) check() error {
	if j.Pane == "" || strings.Trim(j.Pane, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%.40q is no pane", j.Pane)
	}
	if j.RunID == "" || strings.Trim(j.RunID, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%.40q is no run", j.RunID)
	}
	if len(j.Half) > 64 || strings.Trim(j.Half, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return fmt.Errorf("%.40q is no tag", j.Half)
	}
	if j.N < 0 || j.Safety < 0 || j.Turn < 0 {
		return errors.New("a number is negative")
	}
	if err := CheckOps(j.Ops); err != nil {
		return err
	}
	if err := checkFolders(j.Folders); err != nil {
		return err
	}
	return CheckOps(Reverse(j.Ops))
}

// opOnDisk is an Op in a journal. A path that is not UTF-8 stands there in base64.
type opOnDisk struct {
	Path string `json:"path,omitempty"`
	Raw  []byte `json:"path_base64,omitempty"`
	Old  File   `json:"old"`
	New  File   `json:"new"`
}

// MarshalJSON writes the path byte for byte.
func (op Op) MarshalJSON() ([]byte, error) {
	d := opOnDisk{Path: op.Path, Old: op.Old, New: op.New}
	if !utf8.ValidString(op.Path) {
		d.Path, d.Raw = "", []byte(op.Path)
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (op *Op) UnmarshalJSON(data []byte) error {
	var d opOnDisk
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	*op = Op{Path: d.Path, Old: d.Old, New: d.New}
	if d.Raw != nil {
		op.Path = string(d.Raw)
	}
	return nil
}

// Temporary gives the paths of all temporary files that the run may have made.
func (j *Journal) Temporary() map[string]bool {
	run := Run{ID: j.RunID}
	paths := make(map[string]bool, 3*len(j.Ops))
	for i, op := range j.Ops {
		name := run.TempName(i)
		beside := op.Path[:strings.LastIndexByte(op.Path, '/')+1] + name
		paths[name], paths[beside], paths[beside+oldSuffix] = true, true, true
	}
	return paths
}

// Temporary gives those of the journal at path. One that is not there, or cannot be
// read, names none: then they are files like any other.
func Temporary(path string) map[string]bool {
	j, err := ReadJournal(path)
	if err != nil || j == nil {
		return nil
	}
	return j.Temporary()
}

// RemoveJournal ends a run.
func RemoveJournal(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the journal: %w", err)
	}
	return nil
}

// Name says what j's run was, for people.
func (j *Journal) Name() string {
	if j.N > 0 && (j.Action == "restore" || j.Action == "revert") {
		return fmt.Sprintf("a %s of checkpoint %d", j.Action, j.N)
	}
	article := "a"
	if j.Action == "undo" {
		article = "an"
	}
	return article + " " + j.Action
}
