// Package trust remembers which programs of a repository's own configuration the
// person has allowed to run. The record is outside of the repository, so that
// nothing that comes with one can give itself leave; it is of the programs'
// whole texts, so that one that changes has to be allowed again.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
)

// Book is the record for all repositories, one file each.
type Book struct {
	dir string
}

// Open gives the book in dir, a folder of our own that need not exist. An empty
// dir is a book that is empty and cannot be written.
func Open(dir string) Book { return Book{dir} }

// page is what a file of the book holds.
type page struct {
	Format     int          `json:"format"`
	Repository string       `json:"repository"` // the git directory that all its work trees share
	Filters    []git.Driver `json:"filters"`
}

const format = 1

// ErrNoPlace says that there is no folder for the book.
var ErrNoPlace = errors.New("there is no state folder to remember trust in")

func (b Book) path(commonDir string) string {
	sum := sha256.Sum256([]byte(commonDir))
	return filepath.Join(b.dir, hex.EncodeToString(sum[:16])+".json")
}

// read gives the page of a repository; an empty one where there is none, or none
// that is sound: what is not known for sure is not trusted.
func (b Book) read(commonDir string) page {
	var p page
	if b.dir == "" {
		return p
	}
	data, err := os.ReadFile(b.path(commonDir))
	if err != nil || json.Unmarshal(data, &p) != nil || p.Format != format || p.Repository != commonDir {
		return page{}
	}
	return p
}

// Trusts tells whether that very driver may run in the repository with this
// common git directory.
func (b Book) Trusts(commonDir string, d git.Driver) bool {
	return slices.Contains(b.read(commonDir).Filters, d)
}

// Set makes drivers what is trusted in a repository, in place of what was.
func (b Book) Set(commonDir string, drivers []git.Driver) error {
	if b.dir == "" {
		return ErrNoPlace
	}
	data, err := json.MarshalIndent(page{Format: format, Repository: commonDir, Filters: drivers}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("make a folder for what is trusted: %w", err)
	}
	if err := files.Replace(b.path(commonDir), append(data, '\n')); err != nil {
		return fmt.Errorf("remember what is trusted: %w", err)
	}
	return nil
}

// Remove forgets a repository; it tells whether anything was trusted there.
func (b Book) Remove(commonDir string) (bool, error) {
	had := len(b.read(commonDir).Filters) > 0
	if b.dir == "" {
		return false, nil
	}
	if err := os.Remove(b.path(commonDir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return had, fmt.Errorf("forget what is trusted: %w", err)
	}
	return had, nil
}
