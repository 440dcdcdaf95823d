package beside

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// stored is what a repository would have of parts.
func stored(parts []Part) (entries []git.Entry, read func(id string) ([]byte, error)) {
	blobs := map[string][]byte{}
	for i, p := range parts {
		if p.Tree != "" {
			entries = append(entries, git.Entry{Path: p.Name, Mode: git.ModeTree, ID: p.Tree})
			continue
		}
		id := strconv.Itoa(i)
		blobs[id] = p.Data
		entries = append(entries, git.Entry{Path: p.Name, Mode: git.ModeFile, ID: id})
	}
	return entries, func(id string) ([]byte, error) { return blobs[id], nil }
}

func TestContentComesBack(t *testing.T) {
	for name, c := range map[string]Content{
		"nothing": {},
		"trees":   {Raw: strings.Repeat("a", 40), CRLF: strings.Repeat("b", 40)},
		"LFS":     {LFS: []string{strings.Repeat("a", 64), strings.Repeat("b", 64)}},
		"left out": {LeftOut: []snapshot.LeftOut{
			{Path: "a\tb\nc \xff", Reason: snapshot.Unreadable}, {Path: "big.bin", Reason: snapshot.TooLarge},
		}},
		"lists of paths": {Uncertain: []string{"a b", "c\xff\nd"}, Named: []string{"x/y"}},
	} {
		t.Run(name, func(t *testing.T) {
			parts := c.Parts()
			if name == "nothing" && len(parts) > 0 {
				t.Errorf("nothing to keep makes %d entries", len(parts))
			}
			entries, read := stored(parts)
			entries = append(entries, git.Entry{Path: "of-a-later-version", Mode: git.ModeLink, ID: "x"})
			got, err := Decode(entries, read)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c, got); diff != "" {
				t.Errorf("another content came back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMalformedIsSaid(t *testing.T) {
	for name, e := range map[string]struct {
		entry git.Entry
		data  string
	}{
		"a list that is a tree":   {entry: git.Entry{Path: nameLeftOut, Mode: git.ModeTree}},
		"a mirror that is a blob": {entry: git.Entry{Path: nameRaw, Mode: git.ModeFile}},
		"a record without end":    {entry: git.Entry{Path: nameLeftOut, Mode: git.ModeFile}, data: "too large\tx"},
		"an empty path":           {entry: git.Entry{Path: nameNamed, Mode: git.ModeFile}, data: "a\x00\x00"},
		"an OID that is a path":   {entry: git.Entry{Path: nameLFS, Mode: git.ModeFile}, data: "../../x\x00"},
		"a record without a path": {entry: git.Entry{Path: nameLeftOut, Mode: git.ModeFile}, data: "too large\t\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode([]git.Entry{e.entry}, func(string) ([]byte, error) { return []byte(e.data), nil })
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("got error %v, want ErrMalformed", err)
			}
		})
	}
}
