// Package rules has the ignore rules of git that are in no tree of git.
package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules are the ignore rules that the tree of a checkpoint does not hold.
type Rules struct {
	Exclude    []byte // the content of info/exclude
	Global     []byte // the content of the file that core.excludesFile names
	IgnoreCase bool   // core.ignoreCase
	Files      []File // the ignore files in the work tree that no tree holds, by path
}

// FileName is what an ignore file is called.
const FileName = ".gitignore"

// MostBytes is how long an ignore file in Files may be.
const MostBytes = 1_000_000

// File is an ignore file that is ignored itself, as tools write them into the
// folders of their caches.
type File struct {
	Path    string // relative to the root of the work tree
	Content []byte
}

// ReadFiles reads the ignore files at paths below root. Those that are gone, cannot
// be read, are no files or are longer than MostBytes are passed over.
func ReadFiles(root string, paths []string) []File {
	var files []File
	for _, path := range slices.Sorted(slices.Values(paths)) {
		name := filepath.Join(root, path)
		if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() || st.Size() > MostBytes {
			continue
		}
		if content, err := os.ReadFile(name); err == nil && len(content) <= MostBytes {
			files = append(files, File{Path: path, Content: content})
		}
	}
	return files
}

// Same tells whether r and q say the same.
func (r *Rules) Same(q *Rules) bool {
	return r.IgnoreCase == q.IgnoreCase && bytes.Equal(r.Exclude, q.Exclude) && bytes.Equal(r.Global, q.Global) &&
		slices.EqualFunc(r.Files, q.Files, func(a, b File) bool { return a.Path == b.Path && bytes.Equal(a.Content, b.Content) })
}

// LayOutFiles writes Files below root, where no other one is yet.
func (r *Rules) LayOutFiles(root string) error {
	for _, f := range r.Files {
		name := filepath.Join(root, f.Path)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = file.Write(f.Content)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}

// LayOut makes a git directory of dir, an empty folder, that has no rules but these; Files
// belong to a work tree (LayOutFiles).
func (r *Rules) LayOut(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	var err error
	for _, folder := range []string{"objects", "refs", "info"} {
		err = errors.Join(err, os.Mkdir(at(folder), 0o700))
	}
	config := fmt.Sprintf("[core]\n\texcludesFile = %s\n\tignoreCase = %t\n", quoteValue(at("global")), r.IgnoreCase)
	for name, content := range map[string][]byte{
		"HEAD": []byte("ref: refs/heads/none\n"), "config": []byte(config), "info/exclude": r.Exclude, "global": r.Global,
	} {
		err = errors.Join(err, os.WriteFile(at(name), content, 0o600))
	}
	return err
}

// quoteValue writes a value as it stands in a config file.
func quoteValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(v) + `"`
}
