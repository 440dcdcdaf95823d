// Package snapshot says what making the git tree of a work tree means; its
// folders do it. Every one gives the same tree for the same disk: scan is the
// fast one, fresh is the oracle that the other is compared with.
package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
)

// Maker makes the tree of a work tree.
type Maker interface {
	// Make stores the work tree as it is now and returns its tree. One call at a
	// time. It changes nothing but the object store and files of its own.
	Make(ctx context.Context, r Request) (Result, error)
}

// Request says how to make a tree.
type Request struct {
	Head    git.Head
	Limits  Limits
	Include []string // untracked paths that are taken whatever their size

	// Passing are paths at which an untracked file or link is passed over: temporary
	// files of a restore that was killed and is going to be finished.
	Passing map[string]bool

	// Reachable tells whether a tree and the bytes that an earlier Make returned
	// are still held by refs, so that all their objects exist. nil means never.
	Reachable func(tree, bytes string) bool

	// Progress is told how many files are stored, now and then; it may be nil.
	Progress func(done, total int64)
}

// Limits bound what is taken of untracked files, in bytes. A negative value sets
// no limit.
type Limits struct {
	MaxUntracked    int64
	MaxNewUntracked int64
}

// Reasons for which a path is left out. Package checkpoint gives them to its
// users under the same words.
const (
	TooLarge    = "too large"
	TooMuchNew  = "too much new"
	Unreadable  = "unreadable"
	Submodule   = "submodule"
	NestedRepo  = "nested repository"
	Filter      = "filter"
	NotRegular  = "not a regular file"
	BadName     = "name not allowed"
	NotStorable = "git cannot store it"
)

// LeftOut is a path that is not in the tree as it is on disk. A tracked one
// keeps the entry of the user's index.
type LeftOut struct {
	Path   string
	Reason string
}

// Result is the tree of a work tree.
type Result struct {
	Tree string

	// Converts tells whether settings or attribute files may have git change the
	// content of files on their way to the store, filter programs apart.
	Converts bool

	// Bytes is the tree of what the files had on disk where that is not what
	// their blobs have; empty: all have. Its entry BytesRaw is a tree of files with
	// other bytes; its entry BytesCRLF is the part of Tree of which every "\n" is
	// "\r\n" on disk, and no other "\r" is there; its entry BytesFiltered is the part
	// of Tree that a filter program made of what is on disk, or would have made.
	Bytes string

	LeftOut []LeftOut // sorted by path

	// Modes are the permission bits of what is in the tree and of the folders; nil:
	// those on disk are not meant (core.fileMode).
	Modes *Modes
	// Folders are those below which nothing is in the tree, and below which no other
	// one lies; sorted.
	Folders []string
	// Without are the files of Tree that are not on disk because git was told to do
	// without them (skip-worktree); sorted. nil: not known, or the work tree is sparse
	// (core.sparseCheckout) and they are none of it.
	Without []string
	Rules   Rules
	Index   *Index // nil: there is none that can be read

	LFSStorage string // the setting lfs.storage; empty: there is none
}

// Entries of Result.Bytes.
const (
	BytesCRLF = "crlf"
	BytesRaw  = "raw"

	BytesFiltered = "filtered"
)

// ErrDiskFull says that there is no room for what would have to be stored.
var ErrDiskFull = errors.New("disk nearly full")

// Candidate is an untracked regular file that is about to be taken.
type Candidate struct {
	Path string
	Size int64 // bytes
	New  bool  // the tree did not hold it before with the same size
}

// Select applies the limits to untracked files: it returns those that are left
// out. Paths in include are always taken.
func Select(list []Candidate, l Limits, include []string) []LeftOut {
	var out []LeftOut
	var fresh []Candidate
	var total int64
	for _, c := range list {
		switch {
		case slices.Contains(include, c.Path):
		case l.MaxUntracked >= 0 && c.Size > l.MaxUntracked:
			out = append(out, LeftOut{c.Path, TooLarge})
		case c.New:
			fresh = append(fresh, c)
			total += c.Size
		}
	}
	if l.MaxNewUntracked >= 0 && total > l.MaxNewUntracked {
		slices.SortFunc(fresh, func(a, b Candidate) int {
			return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.Path, b.Path))
		})
		for _, c := range fresh {
			if total <= l.MaxNewUntracked {
				break
			}
			total -= c.Size
			out = append(out, LeftOut{c.Path, TooMuchNew})
		}
	}
	return out
}

// CheckRoom returns ErrDiskFull unless the disk that holds dir has room for
// twice fresh bytes and one hundredth of its size.
func CheckRoom(dir string, fresh int64) error {
	free, size, err := diskSpace(dir)
	if err != nil {
		return fmt.Errorf("look for room on the disk: %w", err)
	}
	if free < 2*fresh+size/100 {
		return fmt.Errorf("%w: %d MB free, %d MB to store", ErrDiskFull, free/1_000_000, fresh/1_000_000)
	}
	return nil
}

// SortLeftOut puts list into order and drops repetitions.
func SortLeftOut(list []LeftOut) []LeftOut {
	slices.SortFunc(list, func(a, b LeftOut) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Reason, b.Reason))
	})
	return slices.CompactFunc(list, func(a, b LeftOut) bool { return a.Path == b.Path })
}
