package beside

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/git/rules"
	"github.com/turnback/turnback/internal/snapshot"
)

// stored is what a repository would have of parts.
func stored(parts []Part) (entries []git.Entry, read func(id string) ([]byte, error)) {
	blobs := map[string][]byte{}
	for i, p := range parts {
		if len(p.Blobs) > 0 {
			p.Tree = "tree of " + strings.Join(p.Blobs, " ")
		}
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
		"trees":   {Bytes: strings.Repeat("a", 40)},
		"LFS":     {LFS: []string{strings.Repeat("a", 64), strings.Repeat("b", 64)}},
		"left out": {LeftOut: []snapshot.LeftOut{
			{Path: "a\tb\nc \xff", Reason: snapshot.Unreadable}, {Path: "big.bin", Reason: snapshot.TooLarge},
		}},
		"lists of paths": {Uncertain: []string{"a b", "c\xff\nd"}, Named: []string{"x/y"}},
		"disk": {Overwritten: strings.Repeat("c", 40), Disk: Disk{
			Modes:   &snapshot.Modes{File: 0o664, Exec: 0o775, Folder: 0o755, Odd: []snapshot.Mode{{Path: "a\tb\n\xff", Perm: 0}, {Path: "z", Perm: 0o600}}},
			Folders: []string{"e\nf/g", "x y"},
			Without: []string{"a\tb", "z\n"},
			Rules: &snapshot.Rules{Exclude: []byte("a\n"), Global: []byte("*.o"), IgnoreCase: true, Files: []rules.File{
				{Path: ".gitignore", Content: []byte("*\x00\n")}, {Path: "a\nb/.gitignore", Content: []byte{}}, {Path: "c/.gitignore", Content: []byte("x")},
			}},
			Index: &snapshot.Index{Entries: []git.IndexEntry{
				{Entry: git.Entry{Path: "both", Mode: git.ModeFile, ID: strings.Repeat("1", 40)}, Stage: 1},
				{Entry: git.Entry{Path: "both", Mode: git.ModeExec, ID: strings.Repeat("2", 40)}, Stage: 3},
				{Entry: git.Entry{Path: "gone\t"}},
				{Entry: git.Entry{Path: "new", Mode: git.ModeFile, ID: strings.Repeat("3", 40)}, IntentToAdd: true, AssumeSame: true},
				{Entry: git.Entry{Path: "sub", Mode: git.ModeGitlink, ID: strings.Repeat("4", 40)}, SkipWorktree: true},
			}, Blobs: []string{strings.Repeat("1", 40)}},
		}},
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
			if c.Index != nil {
				c.Index.Blobs = nil // only there to be held
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
		"a mirror that is a blob": {entry: git.Entry{Path: nameBytes, Mode: git.ModeFile}},
		"a record without end":    {entry: git.Entry{Path: nameLeftOut, Mode: git.ModeFile}, data: "too large\tx"},
		"an empty path":           {entry: git.Entry{Path: nameNamed, Mode: git.ModeFile}, data: "a\x00\x00"},
		"an OID that is a path":   {entry: git.Entry{Path: nameLFS, Mode: git.ModeFile}, data: "../../x\x00"},
		"modes that end early":    {entry: git.Entry{Path: nameModes, Mode: git.ModeFile}, data: "file 644\x00"},
		"setuid":                  {entry: git.Entry{Path: nameModes, Mode: git.ModeFile}, data: "file 644\x00exec 755\x00folder 755\x004755\tx\x00"},
		"a mode outside":          {entry: git.Entry{Path: nameModes, Mode: git.ModeFile}, data: "file 644\x00exec 755\x00folder 755\x00755\t../x\x00"},
		"a folder .git":           {entry: git.Entry{Path: nameFolders, Mode: git.ModeFile}, data: "a/.GIT\x00"},
		"a file in .git":          {entry: git.Entry{Path: nameWithout, Mode: git.ModeFile}, data: ".git/config\x00"},
		"an entry of odd mode":    {entry: git.Entry{Path: nameIndex, Mode: git.ModeFile}, data: "40000 11 0 -\ta\x00"},
		"an entry of no object":   {entry: git.Entry{Path: nameIndex, Mode: git.ModeFile}, data: "100644 --exec 0 -\ta\x00"},
		"an entry outside":        {entry: git.Entry{Path: nameIndex, Mode: git.ModeFile}, data: "100644 11 0 -\t/a\x00"},
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
