// Package beside gives what is kept with a checkpoint but not in its tree the
// form that it has in git: the tree of a further parent commit. It reads and
// writes no repository; see docs/format.md for the entries.
//
// Every kind of content is an entry of its own. One whose size grows with what
// changed, or that is short, is a blob of NUL-separated records. One that has
// something to say of any file is a mirrored tree: an entry for each file at the
// file's own path, so that two checkpoints share what is the same in both.
package beside

import (
	"fmt"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Content is what is kept beside one checkpoint.
type Content struct {
	LeftOut []snapshot.LeftOut // every path that the checkpoint does not hold

	Uncertain []string // every path that changed after the agent was let go, where there are many
	Named     []string // every path that the turn's tools named, where there are many

	// Bytes is a tree of mirrored trees, as snapshot.Result.Bytes: what files had on
	// disk where that is not what their blobs have. Empty: there are none.
	Bytes string

	// LFS are the OIDs of Git LFS content that is kept for this checkpoint.
	LFS []string

	Disk

	// Overwritten is a mirrored tree: the files and links that git ignored and that
	// a restore wrote over, as they were on disk. Empty: there are none.
	Overwritten string

	Made  []Made // what the restore made where nothing was
	Taken []Made // the files and links that the restore took away
}

// Part is an entry of the tree. It is a blob of Data, or the tree with the id Tree,
// or a tree that holds Blobs, each under its id.
type Part struct {
	Name  string
	Data  []byte
	Tree  string
	Blobs []string
}

// The names of the entries.
const (
	nameLeftOut     = "left-out"
	nameUncertain   = "uncertain"
	nameNamed       = "named"
	nameBytes       = "bytes"
	nameOverwritten = "overwritten"
	nameLFS         = "lfs"
	nameMade        = "made"
	nameTaken       = "taken"
)

// Parts gives the entries that c needs; none where there is nothing to keep.
func (c *Content) Parts() []Part {
	var parts []Part
	for _, p := range append(c.parts(),
		Part{Name: nameBytes, Tree: c.Bytes},
		Part{Name: nameLeftOut, Data: encodeLeftOut(c.LeftOut)},
		Part{Name: nameNamed, Data: encodePaths(c.Named)},
		Part{Name: nameLFS, Data: encodeLFS(c.LFS)},
		Part{Name: nameMade, Data: encodeMade(c.Made)},
		Part{Name: nameOverwritten, Tree: c.Overwritten},
		Part{Name: nameTaken, Data: encodeMade(c.Taken)},
		Part{Name: nameUncertain, Data: encodePaths(c.Uncertain)},
	) {
		if len(p.Data) > 0 || p.Tree != "" || len(p.Blobs) > 0 {
			parts = append(parts, p)
		}
	}
	return parts
}

// Decode reads the entries of the tree; read gives the content of a blob. Names
// that it does not know are passed over. An entry that is not as it should be is
// an error that wraps ErrMalformed.
func Decode(entries []git.Entry, read func(id string) ([]byte, error)) (Content, error) {
	var c Content
	for _, e := range entries {
		var err error
		switch e.Path {
		case nameLeftOut:
			err = decodeBlob(e, read, func(data []byte) (err error) { c.LeftOut, err = decodeLeftOut(data); return err })
		case nameUncertain:
			err = decodeBlob(e, read, func(data []byte) (err error) { c.Uncertain, err = decodePaths(data); return err })
		case nameNamed:
			err = decodeBlob(e, read, func(data []byte) (err error) { c.Named, err = decodePaths(data); return err })
		case nameLFS:
			err = decodeBlob(e, read, func(data []byte) (err error) { c.LFS, err = DecodeLFS(data); return err })
		case nameMade:
			err = decodeBlob(e, read, func(data []byte) (err error) { c.Made, err = decodeMade(data); return err })
		case nameTaken:
			err = decodeBlob(e, read, func(data []byte) (err error) { c.Taken, err = decodeMade(data); return err })
		case nameBytes:
			c.Bytes, err = treeOf(e)
		case nameOverwritten:
			c.Overwritten, err = treeOf(e)
		default:
			err = c.decode(e, read)
		}
		if err != nil {
			return Content{}, err
		}
	}
	return c, nil
}

func decodeBlob(e git.Entry, read func(id string) ([]byte, error), decode func([]byte) error) error {
	if e.Mode != git.ModeFile {
		return malformed("%s has mode %o", e.Path, e.Mode)
	}
	data, err := read(e.ID)
	if err != nil {
		return fmt.Errorf("read %s: %w", e.Path, err)
	}
	return decode(data)
}

func treeOf(e git.Entry) (string, error) {
	if e.Mode != git.ModeTree {
		return "", malformed("%s is no tree", e.Path)
	}
	return e.ID, nil
}

// records calls each for every one of data's NUL-terminated records.
func records(data []byte, each func(rec string) error) error {
	for rest := string(data); rest != ""; {
		rec, more, ended := strings.Cut(rest, "\x00")
		if !ended {
			return malformed("the last record %.60q has no end", rec)
		}
		if err := each(rec); err != nil {
			return err
		}
		rest = more
	}
	return nil
}
