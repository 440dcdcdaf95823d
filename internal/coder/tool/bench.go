package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/coder/provider"
)

// Bench is where the tools work. Its tools may run at the same time.
type Bench struct {
	Root    string   // of the work tree: absolute, without symbolic links
	Dir     string   // where relative paths begin and commands run; in Root
	Shell   string   // absolute path of the shell for commands
	Environ []string // of commands

	// Files lists the files that git tracks or does not ignore, relative to Root;
	// nil: every file is looked at.
	Files func(ctx context.Context) ([]string, error)

	// Permit asks the person. It returns nil, or why not, in words for the model.
	Permit func(ctx context.Context, a Ask) error

	// Shown remembers what the model has in front of it.
	Shown *Shown
}

// Tools are the tools of a bench.
func (b *Bench) Tools() []Tool {
	onPath := func(raw json.RawMessage) []string {
		at, err := b.place(field(raw, "path"))
		if err != nil {
			return nil
		}
		return []string{at.path}
	}
	line := func(verb, name string) func(json.RawMessage) string {
		return func(raw json.RawMessage) string { return verb + " " + oneLine(field(raw, name)) }
	}
	return []Tool{
		{
			Tool: provider.Tool{
				Name: "read", Description: "Read a file: its text, or an image. A file that is long is cut; the end of the result says so.",
				Schema: schema([]string{"path"}, "path", "the file, relative to the working directory or absolute"),
			}, Line: line("read", "path"), Run: b.read,
		},
		{
			Tool: provider.Tool{
				Name: "write", Description: "Write a file, anew or in the place of what it holds. Folders are made.",
				Schema: schema([]string{"path", "content"}, "path", "the file", "content", "all that it is to hold"),
			}, Writes: true, Line: line("write", "path"), Paths: onPath, Run: b.write,
		},
		{
			Tool: provider.Tool{
				Name: "edit", Description: "Replace a text in a file. The old text has to be in it exactly once, to the byte.",
				Schema: schema([]string{"path", "old", "new"}, "path", "the file", "old", "the text to replace", "new", "the text in its place"),
			}, Writes: true, Line: line("edit", "path"), Paths: onPath, Run: b.edit,
		},
		{
			Tool: provider.Tool{
				Name: "bash", Description: "Run a command in a shell, in the working directory, and get its output and exit status. It has no terminal and no input, and ends after ten minutes.",
				Schema: schema([]string{"command"}, "command", "the command"),
			}, Writes: true, Line: line("$", "command"), Run: b.bash,
		},
		{
			Tool: provider.Tool{
				Name: "grep", Description: "Search files for a regular expression (RE2). Files that git ignores are passed over.",
				Schema: schema([]string{"pattern"}, "pattern", "the expression", "path", "a file or folder to search in; the working directory if left out"),
			}, Line: line("grep", "pattern"), Run: b.grep,
		},
		{
			Tool: provider.Tool{
				Name: "glob", Description: "List files by a pattern of names: * within a name, ** across folders. Files that git ignores are passed over.",
				Schema: schema([]string{"pattern"}, "pattern", "the pattern, relative to the working directory"),
			}, Line: line("glob", "pattern"), Run: b.glob,
		},
	}
}

// oneLine is a text cut to what a line of a screen holds.
func oneLine(text string) string {
	first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(first); len(runes) > 200 {
		first, more = string(runes[:200]), true
	}
	if more {
		first += " ..."
	}
	return first
}

// place is a path that was looked at.
type place struct {
	path    string // absolute, without symbolic links
	shown   string // as a person or a model reads it
	outside bool   // of the work tree, or in what is git's own
}

// place finds where a path leads, following symbolic links as far as it is there.
func (b *Bench) place(path string) (place, error) {
	if path == "" {
		return place{}, errors.New("a path is missing")
	}
	if strings.ContainsRune(path, 0) {
		return place{}, errors.New("a path holds a zero byte")
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(b.Dir, full)
	}
	full, err := resolve(filepath.Clean(full))
	if err != nil {
		return place{}, err
	}
	rel, err := filepath.Rel(b.Root, full)
	outside := err != nil || !filepath.IsLocal(rel)
	if !outside {
		first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
		outside = strings.EqualFold(first, ".git")
	}
	return place{full, path, outside}, nil
}

// resolve follows the symbolic links of the part of a path that is there.
func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", errors.New(path + " is a symbolic link to nowhere")
	}
	parent := filepath.Dir(path)
	if parent == path {
		return "", err
	}
	real, err = resolve(parent)
	if err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

// mayReach asks before a file tool leaves the work tree.
func (b *Bench) mayReach(ctx context.Context, tool string, at place) error {
	if !at.outside {
		return nil
	}
	return b.Permit(ctx, Ask{Tool: tool, Line: outsideLine(tool, at), Outside: true})
}

func outsideLine(tool string, at place) string {
	return tool + " " + at.path + ", outside the work tree"
}
