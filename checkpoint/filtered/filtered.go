// Package filtered has the content of files that stand behind a filter program:
// all that a restore needs is made before it changes the first file, so that it
// can refuse while it still can.
package filtered

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/lfs"
	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
)

// Source makes content.
type Source struct {
	Repo    *git.Repo
	Filters git.Filters
	LFS     lfs.Store
	Dir     string // a folder of our own, on the repository's disk
}

// Wanted is a file whose content is needed.
type Wanted struct {
	Path string
	ID   string // its blob: the stored form
	// Root is the folder whose attribute files count; empty: the work tree.
	Root string
	// Disk says that the file stands on disk now, in that form: its content is
	// taken from there, once the stored form was seen to give some back.
	Disk bool
}

// Stage is content that was made. It is for one goroutine.
type Stage struct {
	dir   string
	files map[content]string
}

// content is that of a stored form as one file.
type content struct{ path, id string }

// Make makes the content of list. What cannot be had is a ContentMissing error.
func (s *Source) Make(ctx context.Context, list []Wanted) (*Stage, error) {
	st := &Stage{files: map[content]string{}}
	if len(list) == 0 {
		return st, nil
	}
	var err error
	if st.dir, err = os.MkdirTemp(s.Dir, Prefix); err != nil {
		return nil, fmt.Errorf("make room for content behind filters: %w", err)
	}
	if err := s.fill(ctx, st, list); err != nil {
		st.Remove()
		return nil, err
	}
	return st, nil
}

// Prefix begins the names of the folders that Make makes. One whose process was
// killed is of no use.
const Prefix = "content-"

func (s *Source) fill(ctx context.Context, st *Stage, list []Wanted) error {
	names, err := s.filtersOf(ctx, list)
	if err != nil {
		return err
	}
	objects, err := s.Repo.ReadObjects(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	for i, w := range list {
		to := filepath.Join(st.dir, strconv.Itoa(i))
		if err = s.one(ctx, objects, names[w], w, to); err != nil {
			break
		}
		st.files[content{w.Path, w.ID}] = to
	}
	return errors.Join(err, objects.Close())
}

// filtersOf tells which filter each of list names.
func (s *Source) filtersOf(ctx context.Context, list []Wanted) (map[Wanted]string, error) {
	paths := map[string][]string{}
	for _, w := range list {
		paths[w.Root] = append(paths[w.Root], w.Path)
	}
	names := make(map[Wanted]string, len(list))
	for root, below := range paths {
		named, err := s.Repo.FiltersOf(ctx, root, below)
		if err != nil {
			return nil, err
		}
		for _, w := range list {
			if w.Root == root {
				names[w] = named[w.Path]
			}
		}
	}
	return names, nil
}

// one makes the content of w in the file to.
func (s *Source) one(ctx context.Context, objects *git.Objects, filter string, w Wanted, to string) error {
	blob := &head{}
	if _, _, err := objects.Copy(w.ID, blob); err != nil {
		return err
	}
	if p, ok := lfs.ParsePointer(blob.Bytes()); ok && !blob.cut {
		return s.large(ctx, w, p, to)
	}
	if !s.Filters.Usable(filter) {
		return unusable(w.Path, filter, s.Filters)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = s.Repo.Through(s.Filters).Smudge(ctx, w.Root, w.Path, w.ID, out)
	closeErr := out.Close()
	switch {
	case err == nil && closeErr == nil && w.Disk:
		return s.fromDisk(w, to)
	case err == nil:
		return closeErr
	}
	if files.IsNoSpace(err) || ctx.Err() != nil {
		return err
	}
	return &fail.Error{
		Code: fail.ContentMissing, Message: fmt.Sprintf("filter %q gives no content for %q: %v", filter, w.Path, err), Paths: []string{w.Path}, Err: err,
		Detail: "see why the filter fails (a key that is missing, say), then restore again",
	}
}

// large finds the content of an LFS pointer. No program is needed for that, and
// nothing goes over a network.
func (s *Source) large(ctx context.Context, w Wanted, p lfs.Pointer, to string) error {
	from, ok := s.LFS.Find(p)
	if !ok {
		return &fail.Error{
			Code: fail.ContentMissing, Message: fmt.Sprintf("the LFS content of %q (%d bytes, sha256 %s) is not on this machine", w.Path, p.Size, p.OID),
			Paths: []string{w.Path}, Detail: "get it with: git lfs fetch --all; then restore again",
		}
	}
	if err := lfs.Check(from, p); err != nil {
		return &fail.Error{
			Code: fail.ContentMissing, Message: fmt.Sprintf("the LFS content of %q cannot be read: %v", w.Path, err), Paths: []string{w.Path}, Err: err,
			Detail: "remove that file and get it again with: git lfs fetch --all; then restore again",
		}
	}
	if err := s.LFS.GiveBack(ctx, p); err != nil {
		return err
	}
	return lfs.Clone(ctx, from, to)
}

// fromDisk puts what w has on disk in place of what its stored form gives.
func (s *Source) fromDisk(w Wanted, to string) error {
	data, err := os.Open(filepath.Join(s.Repo.Worktree, w.Path))
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, data)
	return errors.Join(err, out.Close())
}

func unusable(path, filter string, filters git.Filters) error {
	e := &fail.Error{Code: fail.ContentMissing, Paths: []string{path}}
	switch f, defined := filters[filter]; {
	case filter == "":
		e.Message = fmt.Sprintf("%q was stored through a filter, and names none now", path)
		e.Detail = "put back the line of .gitattributes that named it, then restore again"
	case defined:
		e.Message = fmt.Sprintf("%q is behind filter %q, which may not run: the %s configuration of this repository sets it", path, filter, f.Scope)
		e.Detail, e.Command = "look at its programs, and trust them if you do", "trust"
	default:
		e.Message = fmt.Sprintf("%q is behind filter %q, and no configuration says what that is", path, filter)
		e.Detail = "install or set up the filter, then restore again"
	}
	return e
}

// Has tells whether the content of the file path with the blob id was made.
func (st *Stage) Has(path, id string) bool { return st.files[content{path, id}] != "" }

// Copy writes to w what the file path with the blob id has on disk.
func (st *Stage) Copy(path, id string, w io.Writer) error {
	if !st.Has(path, id) {
		return fmt.Errorf("content of %q was not made", path)
	}
	f, err := os.Open(st.files[content{path, id}])
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// Remove removes what was made.
func (st *Stage) Remove() {
	if st != nil && st.dir != "" {
		_ = os.RemoveAll(st.dir)
	}
}

// head keeps what may be a pointer.
type head struct {
	bytes.Buffer
	cut bool
}

func (h *head) Write(p []byte) (int, error) {
	if h.Len()+len(p) > lfs.MaxPointer {
		h.cut = true
		return len(p), nil
	}
	return h.Buffer.Write(p)
}
