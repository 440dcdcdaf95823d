// Package settings reads what lives outside a work tree and has a say in what of
// it is saved, and how: git's configuration, ignore rules, places of attributes.
package settings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Digest is of settings.
type Digest [sha256.Size]byte

// Reader reads the settings of one work tree.
type Reader struct {
	Repo *git.Repo
	Env  func(name string) string // the environment that git has

	// Trusted tells whether a filter that the repository's own configuration
	// defines may run; nil: none may.
	Trusted func(git.Driver) bool
}

// Settings is what lives outside the tree and has a say in what is in it.
type Settings struct {
	Rules    Digest // decides about ignored files
	Modes    Digest // decides about what is stored of a file
	Content  snapshot.Rules
	FileMode bool // core.fileMode

	Sparse bool // core.sparseCheckout

	AutoCRLF   bool // core.autocrlf may have a say
	Filters    git.Filters
	LFSStorage string // lfs.storage
	// Attributes are the places of attribute files that are in no work tree.
	Attributes []string
}

// Read reads the settings as they are now.
func (s Reader) Read(ctx context.Context) (out Settings, err error) {
	config, err := s.Repo.Config(ctx, git.FilterPattern+`|^lfs\.storage$|^core\.(excludesfile|attributesfile|ignorecase|filemode|symlinks|precomposeunicode|autocrlf|eol|sparsecheckout)$`)
	if err != nil {
		return out, err
	}
	set := config.Map()
	out.LFSStorage = set["lfs.storage"]
	out.Filters, out.FileMode = config.Filters(s.Trusted), git.Bool(set, "core.filemode", true)
	out.Sparse = git.Bool(slices.DeleteFunc(config, func(s git.Setting) bool { return s.Scope == git.ScopeCommand }).Map(), "core.sparsecheckout", false)
	out.AutoCRLF = !slices.Contains([]string{"", "false"}, set["core.autocrlf"])
	out.Attributes = s.attributeFiles(ctx, set)
	out.Modes = sumOf(set, "core.filemode", "core.symlinks", "core.autocrlf", "core.eol")
	for _, path := range out.Attributes {
		if text, err := os.ReadFile(path); err == nil {
			out.Modes = sha256.Sum256(append(out.Modes[:], text...))
		}
	}
	if len(out.Filters) > 0 {
		out.Modes = sha256.Sum256(fmt.Appendf(out.Modes[:], "%#v", out.Filters.Sorted()))
	}
	h := sha256.New()
	rules := sumOf(set, "core.ignorecase", "core.filemode", "core.symlinks", "core.precomposeunicode")
	h.Write(rules[:])
	excludes, named := set["core.excludesfile"]
	if !named {
		excludes = s.userFile("ignore")
	}
	out.Content.IgnoreCase = git.Bool(set, "core.ignorecase", false)
	out.Content.Exclude = addRules(h, filepath.Join(s.Repo.CommonDir, "info", "exclude"))
	out.Content.Global = addRules(h, s.userPath(ctx, excludes, "core.excludesFile"))
	h.Sum(out.Rules[:0])
	return out, nil
}

// attributeFiles are the places of attribute files that are in no work tree.
func (s Reader) attributeFiles(ctx context.Context, set map[string]string) []string {
	users := s.userFile("attributes")
	if at := set["core.attributesfile"]; at != "" {
		users = s.userPath(ctx, at, "core.attributesFile")
	}
	prefix := filepath.Dir(filepath.Dir(s.Repo.Git().Path()))
	return []string{
		filepath.Join(s.Repo.CommonDir, "info", "attributes"), users,
		"/etc/gitattributes", filepath.Join(prefix, "etc", "gitattributes"),
	}
}

// addRules adds the ignore file at path to h and returns its content; none where
// it is absent, cannot be read, or has no rule.
func addRules(h io.Writer, path string) []byte {
	data, err := os.ReadFile(path)
	said := data
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		data, said = nil, []byte(err.Error())
	}
	fmt.Fprintf(h, "%q %d\n%s", path, len(said), said)
	if !hasRule(data) {
		return nil
	}
	return data
}

// hasRule tells whether an ignore file has more than comments and empty lines:
// git gives every new repository one that has not.
func hasRule(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return true
		}
	}
	return false
}

func sumOf(set map[string]string, keys ...string) (sum Digest) {
	h := sha256.New()
	for _, k := range keys {
		v, there := set[k]
		fmt.Fprintf(h, "%s=%t %q\n", k, there, v)
	}
	h.Sum(sum[:0])
	return sum
}

// userFile is where git looks for a file of the user's that no setting names.
func (s Reader) userFile(name string) string {
	if x := s.Env("XDG_CONFIG_HOME"); x != "" {
		return filepath.Join(x, "git", name)
	}
	return filepath.Join(s.Env("HOME"), ".config", "git", name)
}

// userPath is the file that a setting means. Git knows whose home "~name" is,
// and where "%(prefix)" lies.
func (s Reader) userPath(ctx context.Context, path, setting string) string {
	if strings.HasPrefix(path, "~") || strings.HasPrefix(path, "%") {
		if at, err := s.Repo.PathSetting(ctx, setting); err == nil {
			path = at
		}
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(s.Repo.Worktree, path)
	}
	return path
}
