package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Ref is a reference to a commit, with the commit's parts.
type Ref struct {
	Name    string
	Commit  string // or whatever object it is that the ref holds
	Type    string // of the object: "commit"; empty: it is missing
	Symref  string // the ref that this one stands for; empty: it is no symbolic ref
	Tree    string
	Parents []string
	Message string
}

// Refs lists the commits at refs below prefixes (or exactly them), sorted by
// name, in one git process. A ref whose object is missing makes the whole call
// fail; see RefNames.
func (r *Repo) Refs(ctx context.Context, prefixes ...string) ([]Ref, error) {
	const format = "%(refname)%00%(objectname)%00%(objecttype)%00%(symref)%00%(tree)%00%(parent)%00%(contents)%00"
	out, err := r.output(ctx, call{dir: r.Worktree, args: append([]string{"for-each-ref", "--format=" + format}, prefixes...)})
	if err != nil {
		return nil, fmt.Errorf("read refs: %w", err)
	}
	return parseRefs(out)
}

// parseRefs reads the answer of for-each-ref: seven fields a ref, each with a NUL
// behind it, and a line feed.
func parseRefs(out []byte) ([]Ref, error) {
	var refs []Ref
	for len(out) > 0 {
		f := bytes.SplitN(out, []byte{0}, 7)
		if len(f) != 7 {
			return nil, fmt.Errorf("read refs: unexpected answer %.80q", out)
		}
		end := bytes.Index(f[6], []byte("\x00\n"))
		if end < 0 {
			return nil, fmt.Errorf("read refs: unexpected answer %.80q", f[6])
		}
		refs = append(refs, Ref{
			Name: string(f[0]), Commit: string(f[1]), Type: string(f[2]), Symref: string(f[3]),
			Tree: string(f[4]), Parents: strings.Fields(string(f[5])), Message: string(f[6][:end]),
		})
		out = f[6][end+2:]
	}
	return refs, nil
}

// SoundRefs is Refs where some refs hold objects that are missing: those come
// with their name and commit id alone.
func (r *Repo) SoundRefs(ctx context.Context, prefixes ...string) ([]Ref, error) {
	refs, err := r.Refs(ctx, prefixes...)
	if err == nil {
		return refs, nil
	}
	names, namesErr := r.RefNames(ctx, prefixes...)
	if namesErr != nil {
		return nil, err
	}
	missing, missingErr := r.Missing(ctx, slices.Collect(maps.Values(names)))
	if missingErr != nil || len(missing) == 0 {
		return nil, err
	}
	var sound []string
	refs = nil
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if slices.Contains(missing, names[name]) {
			refs = append(refs, Ref{Name: name, Commit: names[name]})
			continue
		}
		sound = append(sound, name)
	}
	for chunk := range slices.Chunk(sound, 200) {
		some, err := r.Refs(ctx, chunk...)
		if err != nil {
			return nil, err
		}
		refs = append(refs, some...)
	}
	return refs, nil
}

// RefNames lists refs below prefixes with the ids that they hold, without
// reading any object.
func (r *Repo) RefNames(ctx context.Context, prefixes ...string) (map[string]string, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, args: append([]string{"for-each-ref", "--format=%(refname) %(objectname)"}, prefixes...)})
	if err != nil {
		return nil, fmt.Errorf("read refs: %w", err)
	}
	names := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, id, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		names[name] = id
	}
	return names, nil
}

// RefChange is one change of a transaction. Old empty means that the ref must
// not exist; New empty deletes it.
type RefChange struct {
	Name string
	Old  string
	New  string
}

// ErrRefMoved says that a ref was not as the transaction expected.
var ErrRefMoved = errors.New("ref has moved")

// UpdateRefs carries out changes in one transaction: all or none. A symbolic ref
// is changed itself, never the ref that it stands for.
func (r *Repo) UpdateRefs(ctx context.Context, changes []RefChange) error {
	var b bytes.Buffer
	b.WriteString("start\x00")
	for _, c := range changes {
		b.WriteString("option no-deref\x00")
		switch {
		case c.New == "":
			fmt.Fprintf(&b, "delete %s\x00%s\x00", c.Name, c.Old)
		case c.Old == "":
			fmt.Fprintf(&b, "create %s\x00%s\x00", c.Name, c.New)
		default:
			fmt.Fprintf(&b, "update %s\x00%s\x00%s\x00", c.Name, c.New, c.Old)
		}
	}
	b.WriteString("prepare\x00commit\x00")
	err := r.stream(ctx, call{dir: r.Worktree, stdin: &b, args: []string{"update-ref", "-z", "--stdin"}}, nil)
	if err == nil {
		return nil
	}
	var e *Error
	if errors.As(err, &e) {
		for _, said := range []string{"reference already exists", "but expected", "cannot lock ref", "File exists", "unable to resolve reference"} {
			if strings.Contains(e.Stderr, said) && !strings.Contains(e.Stderr, "ermission denied") && !strings.Contains(e.Stderr, "Read-only") && !strings.Contains(e.Stderr, "No space") {
				return fmt.Errorf("%w: %w", ErrRefMoved, err)
			}
		}
	}
	if e != nil && strings.Contains(e.Stderr, "couldn't write '") {
		err = errors.Join(err, r.tryRoom()) // git does not say why
	}
	return fmt.Errorf("update refs: %w", err)
}

// tryRoom tells why a small file cannot be written beside the refs; nil: it can.
func (r *Repo) tryRoom() error {
	f, err := os.CreateTemp(filepath.Join(r.CommonDir, "turnback"), "room-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 4096))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// LockedRef names the lock file that kept err's transaction from a ref; empty:
// there was none.
func LockedRef(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	_, rest, ok := strings.Cut(e.Stderr, "Unable to create '")
	if path, _, cut := strings.Cut(rest, ".lock': File exists"); ok && cut {
		return path + ".lock"
	}
	return ""
}

// BlamesRef tells whether err's transaction failed because of the ref name: it
// is there, is locked, or cannot be read.
func BlamesRef(err error, name string) bool {
	var e *Error
	return errors.As(err, &e) && (strings.Contains(e.Stderr, "'"+name+"'") || strings.HasSuffix(LockedRef(err), name+".lock"))
}

// Branch creates refs/heads/name at commit; the name must be valid and new.
func (r *Repo) Branch(ctx context.Context, name, commit string) error {
	if _, err := r.line(ctx, call{dir: r.Worktree, args: []string{"check-ref-format", "--branch", name}}); err != nil {
		return fmt.Errorf("%w: %q is not a valid name for a branch", ErrBadPath, name)
	}
	return r.UpdateRefs(ctx, []RefChange{{Name: "refs/heads/" + name, New: commit}})
}
