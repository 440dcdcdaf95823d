package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/xec"
)

// Reached is what Reach found.
type Reached struct {
	Objects []string // that are there, each once, in no order
	Missing []string // that something there names and the store does not have
}

// Reach lists the objects that commits and their trees name, and the commits
// themselves, but not the commits' parents, in one git process. It fails where
// git cannot go on: a commit that is missing, a tree that is corrupt.
func (r *Repo) Reach(ctx context.Context, commits []string) (Reached, error) {
	var found Reached
	if len(commits) == 0 {
		return found, nil
	}
	out, err := r.output(ctx, call{
		dir: r.Worktree, stdin: strings.NewReader(strings.Join(commits, "\n") + "\n"),
		args: []string{"rev-list", "--objects", "--no-walk=unsorted", "--missing=print", "--no-object-names", "--stdin"},
	})
	if err != nil {
		return found, fmt.Errorf("walk objects: %w", err)
	}
	for line := range strings.Lines(string(out)) {
		id, missing := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "?")
		if missing {
			found.Missing = append(found.Missing, id)
		} else {
			found.Objects = append(found.Objects, id)
		}
	}
	return found, nil
}

// Unsound reads objects as a whole and says what is wrong with those that cannot
// be had: they are missing, their content is not what their id says, or they are
// not of that kind ("blob"; empty: any). Unless it is nil, each gets the others: the content is good until it returns, and of a
// large file it is only the start.
func (r *Repo) Unsound(ctx context.Context, ids []string, kind string, each func(id, kind string, content []byte)) (map[string]error, error) {
	c := &checker{repo: r, kind: kind, each: each, bad: map[string]error{}}
	defer func() { _ = c.end() }() // what it could not read is known by then
	for _, id := range ids {
		if err := c.check(ctx, id); err != nil {
			return nil, err
		}
	}
	return c.bad, nil
}

type checker struct {
	repo    *Repo
	kind    string
	each    func(id, kind string, content []byte)
	objects *Objects // nil: none is open
	start   startOf
	bad     map[string]error
}

func (c *checker) end() error {
	if c.objects == nil {
		return nil
	}
	err := c.objects.Close()
	c.objects = nil
	return err
}

// ErrNotFetched says that an object is one of those that a partial clone has left
// at its remote. It is an [ErrMissingObject].
var ErrNotFetched = fmt.Errorf("%w: this partial clone has not fetched it", ErrMissingObject)

// fatal says why git ended itself at an object: it cannot unpack it, or would
// have to ask a remote, which our calls may not.
func fatal(ended error) error {
	var exit *xec.ExitError
	if errors.As(ended, &exit) && strings.Contains(exit.Stderr, "promisor remote") {
		return ErrNotFetched
	}
	return ErrCorruptObject
}

func (c *checker) check(ctx context.Context, id string) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.objects == nil {
		if c.objects, err = c.repo.ReadObjects(ctx); err != nil {
			return err
		}
	}
	c.start.Reset()
	var w io.Writer = io.Discard
	if c.each != nil {
		w = &c.start
	}
	kind, _, err := c.objects.Copy(id, w)
	switch {
	case err == nil && c.kind != "" && kind != c.kind:
		c.bad[id] = fmt.Errorf("object %s is a %s, not a %s", id, kind, c.kind)
	case err == nil && c.each != nil:
		c.each(id, kind, c.start.Bytes())
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ErrMissingObject), errors.Is(err, ErrCorruptObject):
		c.bad[id] = err
	default:
		c.bad[id] = fmt.Errorf("read object %s: %w", id, fatal(c.end()))
	}
	return nil
}

// startOf keeps the start of an object: all of any sane tree or commit.
type startOf struct{ bytes.Buffer }

const mostKept = 16 << 20

// Write takes everything and keeps the first bytes.
func (s *startOf) Write(p []byte) (int, error) {
	_, err := s.Buffer.Write(p[:min(len(p), mostKept-s.Len())])
	return len(p), err
}

// ErrBadTree says that the content of a tree object is not as git writes it.
var ErrBadTree = errors.New("malformed tree")

// ParseTree reads the content of a tree object; the entries' paths are single
// names. It takes what can be read, whatever names, modes and order there are.
func ParseTree(data []byte, idLen int) ([]Entry, error) {
	var entries []Entry
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, hasName := strings.Cut(string(head), " ")
		m, err := strconv.ParseUint(mode, 8, 32)
		if !ok || !hasName || err != nil || len(rest) < idLen {
			return nil, ErrBadTree
		}
		entries = append(entries, Entry{Path: name, Mode: uint32(m), ID: hex.EncodeToString(rest[:idLen])})
		data = rest[idLen:]
	}
	return entries, nil
}

// CheckTree refuses the entries of a tree that git would not have made: a name
// or a mode that must not be, a name that stands twice, another order than git's.
func CheckTree(entries []Entry) error {
	before := ""
	files := map[string]bool{}
	for i, e := range entries {
		switch e.Mode {
		case ModeTree, ModeFile, ModeExec, ModeLink, ModeGitlink, modeFileGroup:
		default:
			return fmt.Errorf("%w: mode %o of %.80q", ErrBadTree, e.Mode, e.Path)
		}
		if err := CheckEntry(e.Path, e.Mode); err != nil {
			return err
		}
		if strings.Contains(e.Path, "/") {
			return fmt.Errorf("%w: %.80q is no single name", ErrBadTree, e.Path)
		}
		key := e.Path
		if e.Mode == ModeTree {
			key += "/"
		}
		if i > 0 && key <= before {
			return fmt.Errorf("%w: %.80q is out of order", ErrBadTree, e.Path)
		}
		if files[e.Path] {
			return fmt.Errorf("%w: %.80q stands twice", ErrBadTree, e.Path)
		}
		files[e.Path], before = true, key
	}
	return nil
}

// modeFileGroup is a mode that the first versions of git wrote; it reads as ModeFile.
const modeFileGroup = 0o100664
