package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/git/pack"
	"github.com/turnback/turnback/internal/xec"
)

// CommitSpec is a commit to write. Author and committer are the fixed identity
// given, so no config of the user is needed and nothing is signed.
type CommitSpec struct {
	Tree    string
	Parents []string
	Name    string
	Email   string
	When    time.Time
	Message string
}

// WriteCommit stores a commit and returns its id.
func (r *Repo) WriteCommit(_ context.Context, c CommitSpec) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.Tree)
	for _, p := range c.Parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	who := fmt.Sprintf("%s <%s> %d +0000", c.Name, c.Email, c.When.Unix())
	fmt.Fprintf(&b, "author %s\ncommitter %s\n\n%s", who, who, c.Message)
	if err := checkCommit(c); err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	id, err := r.pen.Add(pack.Commit, b.Bytes())
	if err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	return id, nil
}

// checkCommit refuses what git would not take as a commit.
func checkCommit(c CommitSpec) error {
	for _, id := range append([]string{c.Tree}, c.Parents...) {
		if len(id) != 40 && len(id) != 64 || strings.Trim(id, "0123456789abcdef") != "" {
			return fmt.Errorf("%.80q is no object id", id)
		}
	}
	if strings.ContainsAny(c.Name+c.Email, "<>\n\x00") || strings.Contains(c.Message, "\x00") {
		return errors.New("a name or a message with bytes that git refuses")
	}
	return nil
}

// CommitAsUser stores a commit with the user's own identity and returns its id.
func (r *Repo) CommitAsUser(ctx context.Context, tree, parent, message string) (string, error) {
	if err := r.Flush(); err != nil {
		return "", err
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	id, err := r.line(ctx, call{dir: r.Worktree, writes: true, stdin: strings.NewReader(message), args: args})
	if err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	return id, nil
}

// WriteBlob stores data as it is and returns its id.
func (r *Repo) WriteBlob(_ context.Context, data []byte) (string, error) {
	id, err := r.pen.Add(pack.Blob, data)
	if err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	return id, nil
}

// SplitCommit gives the parents of a commit object, and its message.
func SplitCommit(object string) (parents []string, message string) {
	head, message, _ := strings.Cut(object, "\n\n")
	for line := range strings.Lines(head) {
		if id, ok := strings.CutPrefix(line, "parent "); ok {
			parents = append(parents, strings.TrimSuffix(id, "\n"))
		}
	}
	return parents, message
}

// Parents lists the parents of a commit.
func (r *Repo) Parents(ctx context.Context, commit string) ([]string, error) {
	out, err := r.line(ctx, call{dir: r.Worktree, args: []string{"rev-parse", commit + "^@"}})
	if err != nil {
		return nil, fmt.Errorf("read commit %s: %w", commit, err)
	}
	return strings.Fields(out), nil
}

// EmptyTree is the id of the tree without entries, stored.
func (r *Repo) EmptyTree(context.Context) (string, error) {
	id, err := r.pen.Add(pack.Tree, nil)
	if err != nil {
		return "", fmt.Errorf("write the empty tree: %w", err)
	}
	return id, nil
}

// Missing names those of ids that the object store does not have.
func (r *Repo) Missing(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	out, err := r.output(ctx, call{
		dir: r.Worktree, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n"),
		args: []string{"cat-file", "--batch-check=%(objectname)"},
	})
	if err != nil {
		return nil, fmt.Errorf("look for objects: %w", err)
	}
	var missing []string
	for line := range strings.Lines(string(out)) {
		if id, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), " missing"); ok {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// ErrMissingObject says that the object store does not have an object.
var ErrMissingObject = errors.New("object is missing")

// Objects reads objects one after the other from one git process. It may wait for
// the next question as long as it likes; an answer has to come in time.
type Objects struct {
	p       *xec.Process
	out     *bufio.Reader
	readers *sharing
	spoiled bool // an answer was not as it should be: the next cannot be told from it
}

// ReadObjects starts a reader; Close ends it.
func (r *Repo) ReadObjects(ctx context.Context) (*Objects, error) {
	o, shared := r.readers.take()
	if o != nil {
		if err := r.pen.Settle(); err != nil {
			return nil, errors.Join(err, o.end())
		}
		return o, nil
	}
	if shared {
		ctx = context.WithoutCancel(ctx)
	}
	p, err := r.start(ctx, call{dir: r.Worktree, args: []string{"cat-file", "--batch"}})
	if err != nil {
		return nil, err
	}
	p.Rest()
	return &Objects{p: p, out: bufio.NewReaderSize(p.Stdout, 64<<10), readers: r.readers}, nil
}

// Copy writes the content of the object id to w and returns its type and size
// in bytes; ErrMissingObject where there is none. The id may also be a name of
// the object, like "<commit>:<path>".
func (o *Objects) Copy(id string, w io.Writer) (string, int64, error) {
	if strings.ContainsAny(id, "\n ") || id == "" {
		return "", 0, fmt.Errorf("read object %.80q: not an object id", id)
	}
	kind, size, err := o.copy(id, w)
	o.spoiled = o.spoiled || err != nil && !errors.Is(err, ErrMissingObject) && !errors.Is(err, ErrCorruptObject)
	return kind, size, err
}

func (o *Objects) copy(id string, w io.Writer) (string, int64, error) {
	o.p.Expect()
	defer o.p.Rest()
	if _, err := io.WriteString(o.p.Stdin, id+"\n"); err != nil {
		return "", 0, fmt.Errorf("read object %s: %w", id, err)
	}
	head, err := o.out.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("read object %s: %w", id, err)
	}
	f := strings.Fields(head)
	if len(f) == 2 && f[1] == "missing" {
		return "", 0, fmt.Errorf("read object %s: %w", id, ErrMissingObject)
	}
	if len(f) != 3 {
		return "", 0, fmt.Errorf("read object %s: unexpected answer %.80q", id, head)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("read object %s: unexpected size %.80q", id, head)
	}
	want := f[0]
	if len(id) == len(want) {
		want = id // it was no name of the object
	}
	sum := pack.NewHash(len(want) / 2)
	fmt.Fprintf(sum, "%s %d\x00", f[1], size)
	content := io.LimitReader(o.out, size)
	n, err := io.Copy(io.MultiWriter(sum, w), content)
	// Whatever went wrong, the next answer begins behind this object.
	rest, drainErr := io.Copy(io.Discard, content)
	if _, tailErr := o.out.Discard(1); err == nil {
		err = errors.Join(drainErr, tailErr)
	}
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("read object %s: %w", id, err)
	case n+rest != size:
		return "", 0, fmt.Errorf("read object %s: %w", id, io.ErrUnexpectedEOF)
	case hex.EncodeToString(sum.Sum(nil)) != want:
		return "", 0, fmt.Errorf("read object %s: %w", id, ErrCorruptObject)
	}
	return f[1], size, nil
}

// ErrCorruptObject says that the content of an object is not what its id says.
var ErrCorruptObject = errors.New("object is corrupt")

// Close ends the reader.
func (o *Objects) Close() error {
	if o.readers.keep(o) {
		return nil
	}
	return o.end()
}

func (o *Objects) end() error {
	o.p.Expect()
	if err := o.p.Stdin.Close(); err != nil {
		o.p.Kill()
	}
	_, _ = io.Copy(io.Discard, o.out)
	if err := o.p.Wait(); err != nil {
		return fmt.Errorf("read objects: %w", err)
	}
	return nil
}

// TreeWriter writes tree objects one after the other.
type TreeWriter struct {
	repo *Repo
	held map[string]bool
}

// WriteTrees starts a writer; Close ends it.
func (r *Repo) WriteTrees(context.Context) (*TreeWriter, error) { return &TreeWriter{repo: r}, nil }

// Pass has the writer store none of the trees ids: a ref holds them already.
func (t *TreeWriter) Pass(ids []string) {
	t.held = make(map[string]bool, len(ids))
	for _, id := range ids {
		t.held[id] = true
	}
}

// Write stores one tree; the entries' paths are single names, in any order.
// An entry that git itself would refuse in a tree is an error.
func (t *TreeWriter) Write(entries []Entry) (string, error) {
	data, err := encodeTree(entries, t.repo.IDLen)
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	if len(t.held) > 0 {
		if id := pack.IDOf(pack.Tree, data, t.repo.IDLen); t.held[id] {
			return id, nil
		}
	}
	id, err := t.repo.pen.Add(pack.Tree, data)
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	return id, nil
}

// encodeTree gives the bytes of a tree object.
func encodeTree(entries []Entry, idLen int) ([]byte, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int { return strings.Compare(sortedAs(a), sortedAs(b)) })
	names := make(map[string]bool, len(entries))
	var b bytes.Buffer
	for _, e := range sorted {
		if err := CheckName(e.Path); err != nil {
			return nil, err
		}
		if names[e.Path] {
			return nil, fmt.Errorf("%w: %q stands twice in a tree", ErrBadPath, e.Path)
		}
		names[e.Path] = true
		raw, err := hex.DecodeString(e.ID)
		if err != nil || len(raw) != idLen {
			return nil, fmt.Errorf("%.80q is no object id", e.ID)
		}
		switch e.Mode {
		case ModeTree, ModeFile, ModeExec, ModeLink, ModeGitlink, 0o100664: // the last is of old repositories
		default:
			return nil, fmt.Errorf("mode %o of %q is none that git has", e.Mode, e.Path)
		}
		fmt.Fprintf(&b, "%o %s\x00", e.Mode, e.Path)
		b.Write(raw)
	}
	return b.Bytes(), nil
}

// sortedAs is what git sorts an entry by.
func sortedAs(e Entry) string {
	if e.Mode == ModeTree {
		return e.Path + "/"
	}
	return e.Path
}

// Close ends the writer.
func (t *TreeWriter) Close() error { return nil }

// Commits reads commits by their ids. Of one that is missing, corrupt or no
// commit only the id is given.
func (r *Repo) Commits(ctx context.Context, ids []string) (map[string]Ref, error) {
	found := make(map[string]Ref, len(ids))
	if len(ids) == 0 {
		return found, nil
	}
	objects, err := r.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		ref := Ref{Commit: id}
		var b bytes.Buffer
		kind, _, err := objects.Copy(id, &b)
		switch {
		case err == nil && kind == "commit":
			ref.Type = kind
			parseCommit(&ref, b.String())
		case err != nil && !errors.Is(err, ErrMissingObject) && !errors.Is(err, ErrCorruptObject):
			return nil, errors.Join(err, objects.Close())
		}
		found[id] = ref
	}
	return found, objects.Close()
}

// parseCommit reads the text of a commit object into ref.
func parseCommit(ref *Ref, text string) {
	head, message, _ := strings.Cut(text, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		switch name, value, _ := strings.Cut(line, " "); name {
		case "tree":
			ref.Tree = value
		case "parent":
			ref.Parents = append(ref.Parents, value)
		}
	}
	ref.Message = message
}
