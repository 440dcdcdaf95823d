// Package restore changes files of a work tree from one known state to another
// without losing a byte: each file is written beside its place and swapped in,
// and what came out is compared with what was expected there. A journal makes a
// run that was killed visible and possible to finish either way.
package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/blob"
)

// File is a file, a link, or nothing (Mode 0) at a path.
type File struct {
	Mode uint32 `json:"mode"` // as git has it
	ID   string `json:"id"`   // its blob

	// How its bytes on disk come from blobs: they are those of the blob Raw, or
	// with CRLF those of ID with each "\n" made "\r\n", else those of ID. Of a file
	// that is Filtered, a program makes ID of what is on disk.
	Raw      string `json:"raw,omitempty"`
	CRLF     bool   `json:"crlf,omitempty"`
	Filtered bool   `json:"filtered,omitempty"`

	Perm uint32 `json:"perm,omitempty"` // a regular file's permission bits, with S_IFREG; 0: not known, or not meant
}

// Absent tells whether nothing is there.
func (f File) Absent() bool { return f.Mode == 0 }

// sameBytes tells whether two regular files differ in their permission bits alone.
func (f File) sameBytes(g File) bool {
	f.Mode, f.Perm = g.Mode, g.Perm
	return f == g && isFile(g.Mode)
}

func isFile(mode uint32) bool { return mode == git.ModeFile || mode == git.ModeExec }

// Op is the change of one path.
type Op struct {
	Path string // relative to the root, raw bytes
	Old  File   // what must be there
	New  File   // what is put there
}

// Reverse gives the ops that take ops back.
func Reverse(ops []Op) []Op {
	out := make([]Op, len(ops))
	for i, op := range ops {
		out[i] = Op{Path: op.Path, Old: op.New, New: op.Old}
	}
	return out
}

// Objects gives the content of stored objects.
type Objects interface {
	Copy(id string, w io.Writer) (kind string, size int64, err error)
}

// Filtered gives the content of files that a filter program stands before, by
// their paths and the ids of their blobs.
type Filtered interface {
	Has(path, id string) bool
	Copy(path, id string, w io.Writer) error
}

// Hasher gives the id that content has as the file at path, with git's own
// conversions.
type Hasher interface {
	HashLikePath(ctx context.Context, path string, content io.Reader) (string, error)
}

// ErrChanged says that a path did not hold what was expected.
var ErrChanged = errors.New("changed meanwhile")

// ErrBlocked says that something else than a folder stands above a path, or a
// folder that is not empty at it.
var ErrBlocked = errors.New("something stands in the way")

// PathError says at which path a run stopped.
type PathError struct {
	Path string
	Err  error
}

// Error tells path and cause.
func (e *PathError) Error() string { return fmt.Sprintf("%q: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *PathError) Unwrap() error { return e.Err }

// Run is one run over a work tree.
type Run struct {
	Root       string // the work tree's root
	ID         string // short, of [a-z0-9]; part of the names of temporary files
	IDLen      int    // bytes of an object id: 20 or 32
	Objects    Objects
	Hasher     Hasher
	Filtered   Filtered                // content of files that are Filtered; nil: none is needed
	OneByOne   bool                    // open folders component by component, also where the kernel can open a path safely at once
	FileMode   bool                    // the file system's executable bits are meant (core.fileMode)
	PlainLinks bool                    // links are regular files that hold their target (core.symlinks is off)
	Progress   func(done, total int64) // may be nil
	Step       func(step string) error // called at every step boundary, may be nil: an error ends the run at once, as a kill would
}

// copyTo writes to w what f is on disk at path.
func (r *Run) copyTo(w io.Writer, path string, f File) error {
	if f.Filtered {
		if r.Filtered == nil {
			return fmt.Errorf("content of %q was not made", path)
		}
		return r.Filtered.Copy(path, f.ID, w)
	}
	id := f.ID
	switch {
	case f.Raw != "":
		id = f.Raw
	case f.CRLF:
		w = blob.CRLFWriter{W: w}
	}
	_, _, err := r.Objects.Copy(id, w)
	return err
}

// TempName is the name of the temporary file of op number i.
func (r *Run) TempName(i int) string { return fmt.Sprintf("%s%s-%d", TempPrefix, r.ID, i) }

// TempPrefix starts the name of every temporary file.
const TempPrefix = ".turnback-"

// oldSuffix is added to it while a swap takes three renames.
const oldSuffix = "-old"

func (r *Run) step(format string, args ...any) error {
	if r.Step == nil {
		return nil
	}
	return r.Step(fmt.Sprintf(format, args...))
}

// checkFile refuses what git would have at no path, or not at this one.
func checkFile(path string, f File) error {
	switch f.Mode {
	case 0, git.ModeFile, git.ModeExec, git.ModeLink, git.ModeGitlink:
		return git.CheckEntry(path, f.Mode)
	}
	return fmt.Errorf("%w: mode %o", git.ErrBadPath, f.Mode)
}

// CheckOps refuses ops that would leave the tree or touch a git directory.
func CheckOps(ops []Op) error {
	links, seen := map[string]bool{}, map[string]bool{}
	for _, op := range ops {
		if seen[op.Path] {
			return &PathError{op.Path, fmt.Errorf("%w: it stands twice in the same tree", git.ErrBadPath)}
		}
		seen[op.Path] = true
		for _, f := range []File{op.Old, op.New} {
			if err := checkFile(op.Path, f); err != nil {
				return &PathError{op.Path, err}
			}
		}
		if !op.New.Absent() {
			links[op.Path] = true
		}
	}
	for _, op := range ops {
		if op.New.Absent() {
			continue
		}
		for i := strings.IndexByte(op.Path, '/'); i >= 0; {
			if links[op.Path[:i]] {
				return &PathError{op.Path, fmt.Errorf("%w: it lies below a file of the same tree", git.ErrBadPath)}
			}
			next := strings.IndexByte(op.Path[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
		}
	}
	return nil
}

// KeptError says where a file of the person is that could not stay in its place.
type KeptError struct{ Path string }

// Error tells the place.
func (e *KeptError) Error() string { return fmt.Sprintf("what was there is kept at %q", e.Path) }

// order sorts numbers of ops into what can be written at once, what goes
// away, what can only be written after that, and the files that decide how git
// reads others: those come last, so that all before are judged by the old ones.
func order(ops []Op, which []int) (writes, removes, late, rules []int) {
	gone := map[string]bool{}    // paths that go away, case folded
	goneDir := map[string]bool{} // folders in which something goes away, case folded
	for _, n := range which {
		if op := ops[n]; !op.Old.Absent() && op.New.Absent() {
			folded := Fold(op.Path)
			gone[folded] = true
			for i := range folded {
				if folded[i] == '/' {
					goneDir[folded[:i]] = true
				}
			}
		}
	}
	for _, n := range which {
		op := ops[n]
		folded := Fold(op.Path)
		inTheWay := goneDir[folded] || BelowAny(folded, gone)
		switch {
		case path.Base(op.Path) == ".gitattributes" && !inTheWay:
			rules = append(rules, n)
		case op.New.Absent():
			removes = append(removes, n)
		case op.Old.Absent() && (inTheWay || gone[folded]):
			late = append(late, n)
		default:
			writes = append(writes, n)
		}
	}
	return writes, removes, late, rules
}

// Fold gives the paths that some volumes take for one the same spelling. Each name
// is folded for itself, so that folding a folder and folding a file below it agree.
func Fold(path string) string {
	if utf8.ValidString(path) {
		return strings.ToLower(path)
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		if utf8.ValidString(name) {
			names[i] = strings.ToLower(name)
		}
	}
	return strings.Join(names, "/")
}

// BelowAny tells whether a folder above file is in set.
func BelowAny(file string, set map[string]bool) bool {
	for i := range file {
		if file[i] == '/' && set[file[:i]] {
			return true
		}
	}
	return false
}
