// Package tidy looks after the packs in which checkpoints entered a repository:
// it joins small ones, lets go of what keeps them once their refs are sound, and
// removes what killed processes left. It touches no pack that is not ours.
package tidy

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/pack"
	"github.com/turnback/turnback/internal/git/quarantine"
)

const (
	// grace is how long a pack is left alone after a save last relied on it. A
	// save may take ten minutes.
	grace = 15 * time.Minute
	// JoinFrom is how many packs of about the same size are worth joining.
	JoinFrom = 8
	// joinUpTo is from how many bytes on a pack stays as it is.
	joinUpTo = 64 << 20
)

// Tidier looks after the packs of one repository.
type Tidier struct {
	Repo *git.Repo
	Dir  string           // the folder of ours in its git directory
	Refs string           // what the refs of ours begin with
	Now  func() time.Time //
	// Least is how many packs there have to be for anything to be done.
	Least int
}

// own is a pack of ours.
type own struct {
	base string // its path, without an ending
	size int64
	kept bool // by a ".keep"
}

// Tidy does what is due. Where nothing is, it reads a folder and a file. It makes
// way for another process that does the same. Where refs lack objects it is an
// error, and every pack stays kept.
func (t *Tidier) Tidy(ctx context.Context) error {
	quarantine.Sweep(filepath.Join(t.Dir, "quarantine"))
	packs, err := t.packs()
	if err != nil || len(packs) < t.Least || !slices.ContainsFunc(packs, func(p own) bool { return p.kept }) && len(packs) < JoinFrom {
		return err
	}
	lock, err := files.TryLock(filepath.Join(t.Dir, "tidy.lock"))
	if err != nil || lock == nil {
		return err
	}
	return errors.Join(t.tidy(ctx, packs), lock.Unlock())
}

func (t *Tidier) tidy(ctx context.Context, packs []own) error {
	if err := t.check(ctx, packs); err != nil {
		return err
	}
	packs, err := t.join(ctx, packs)
	if err != nil {
		return err
	}
	// The list first: a pack that is neither kept nor listed is ours no longer.
	if err := t.writeList(packs); err != nil {
		return err
	}
	for _, p := range packs {
		if !p.kept {
			continue
		}
		if err := letGo(p.base); err != nil {
			return err
		}
	}
	return nil
}

// letGo removes what keeps a pack, which is on the disk before.
func letGo(base string) error {
	for _, end := range []string{".pack", ".idx"} {
		f, err := os.Open(base + end)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // repacked meanwhile
		}
		if err != nil {
			return fmt.Errorf("let go of a pack: %w", err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("let go of a pack: %w", err)
		}
	}
	if err := os.Remove(base + ".keep"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("let go of a pack: %w", err)
	}
	return nil
}

// packs lists the packs of ours that no save relies on now.
func (t *Tidier) packs() ([]own, error) {
	objects := t.Repo.ObjectsDir()
	var list []own
	for _, base := range quarantine.Kept(objects) {
		keep, err := os.Stat(base + ".keep")
		if err != nil || t.Now().Sub(keep.ModTime()) < grace {
			continue
		}
		list = append(list, own{base: base, kept: true})
	}
	data, err := os.ReadFile(t.listPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the list of packs: %w", err)
	}
	for name := range strings.Lines(string(data)) {
		base := filepath.Join(objects, "pack", "pack-"+strings.TrimSuffix(name, "\n"))
		if _, err := os.Stat(base + ".keep"); errors.Is(err, fs.ErrNotExist) { // else it is above, or somebody else keeps it
			list = append(list, own{base: base})
		}
	}
	there := list[:0]
	for _, p := range list {
		if st, err := os.Stat(p.base + ".pack"); err == nil {
			p.size = st.Size()
			there = append(there, p)
		}
	}
	return there, nil
}

func (t *Tidier) listPath() string { return filepath.Join(t.Dir, "packs") }

func (t *Tidier) writeList(packs []own) error {
	var b strings.Builder
	for _, p := range packs {
		b.WriteString(strings.TrimPrefix(filepath.Base(p.base), "pack-") + "\n")
	}
	if err := files.Replace(t.listPath(), []byte(b.String())); err != nil {
		return fmt.Errorf("write the list of packs: %w", err)
	}
	return nil
}

// ErrMissing says that refs lack objects.
var ErrMissing = errors.New("objects are missing")

// check makes sure that refs whose commits are in kept packs have all that they
// need.
func (t *Tidier) check(ctx context.Context, packs []own) error {
	refs, err := t.Repo.RefNames(ctx, t.Refs)
	if err != nil {
		return err
	}
	tips := make(map[string]bool, len(refs))
	for _, id := range refs {
		tips[id] = true
	}
	var commits []string
	for _, p := range packs {
		if !p.kept {
			continue
		}
		x, err := pack.ReadIndex(p.base+".idx", t.Repo.IDLen)
		if err != nil {
			return fmt.Errorf("check a pack: %w", err)
		}
		commits = append(commits, slices.DeleteFunc(x.IDs(), func(id string) bool { return !tips[id] })...)
	}
	reached, err := t.Repo.Reach(ctx, commits)
	if err != nil {
		return err
	}
	if len(reached.Missing) > 0 && !t.partial() {
		return fmt.Errorf("%w: %d that checkpoints need, %s among them", ErrMissing, len(reached.Missing), reached.Missing[0])
	}
	return nil
}

// partial tells whether the repository is one that need not have all objects.
func (t *Tidier) partial() bool {
	found, _ := filepath.Glob(filepath.Join(quarantine.GlobLiteral(t.Repo.ObjectsDir()), "pack", "*.promisor"))
	return len(found) > 0
}

// join makes one pack of those that are about as large as all smaller ones
// together, and gives the packs that there are then.
func (t *Tidier) join(ctx context.Context, packs []own) ([]own, error) {
	slices.SortFunc(packs, func(a, b own) int { return cmp.Or(cmp.Compare(a.size, b.size), strings.Compare(a.base, b.base)) })
	summed, err := t.summedUp()
	if err != nil {
		return nil, err
	}
	var few, rest []own
	var total int64
	for _, p := range packs {
		if p.size > joinUpTo || len(few) >= JoinFrom && p.size > 2*total || bytes.Contains(summed, []byte(filepath.Base(p.base)+".idx")) {
			rest = append(rest, p)
			continue
		}
		few = append(few, p)
		total += p.size
	}
	if len(few) < JoinFrom {
		return packs, nil
	}
	joined, err := t.joinAll(ctx, few)
	return append(rest, joined), err
}

// summedUp is git's index of many packs, which names those that it covers; git
// expects them to stay.
func (t *Tidier) summedUp() ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(t.Repo.ObjectsDir(), "pack", "multi-pack-index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the index of many packs: %w", err)
	}
	return data, nil
}

func (t *Tidier) joinAll(ctx context.Context, few []own) (own, error) {
	var ids []string
	for _, p := range few {
		x, err := pack.ReadIndex(p.base+".idx", t.Repo.IDLen)
		if err != nil {
			return own{}, fmt.Errorf("join packs: %w", err)
		}
		ids = append(ids, x.IDs()...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	base, err := t.Repo.Pack(ctx, ids)
	if err != nil {
		return own{}, fmt.Errorf("join packs: %w", err)
	}
	x, err := pack.ReadIndex(base+".idx", t.Repo.IDLen)
	if err != nil {
		return own{}, fmt.Errorf("join packs: %w", err)
	}
	if i := slices.IndexFunc(ids, func(id string) bool { return !x.Has(id) }); i >= 0 {
		return own{}, fmt.Errorf("join packs: %w: %s", ErrMissing, ids[i])
	}
	for _, p := range few {
		if p.base == base {
			continue
		}
		for _, end := range []string{".idx", ".pack", ".rev", ".bitmap", ".keep"} { // without its index a pack is not there
			if err := os.Remove(p.base + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return own{}, fmt.Errorf("remove a pack that was joined: %w", err)
			}
		}
	}
	return own{base: base}, nil // kept for a while, as one that a save made
}
