package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// ScopeCommand is the scope of the settings that every command of ours gets.
const ScopeCommand = "command"

// Setting is one value of git's configuration.
type Setting struct {
	Scope string // system, global, local, worktree or command
	Key   string // section and name in lower case, what is between them as it is
	Value string // "true" where the file gives none
}

// outside tells whether s comes from the machine or its user, and not from a
// file that may have come with the repository.
func (s Setting) outside() bool { return s.Scope == "system" || s.Scope == "global" }

// Config are settings in the order in which git reads them: of one key the last
// counts.
type Config []Setting

// Config reads the settings whose keys match pattern, from every file.
func (r *Repo) Config(ctx context.Context, pattern string) (Config, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, apart: true, args: []string{"config", "-z", "--includes", "--show-scope", "--get-regexp", pattern}})
	if err != nil && !exitedWith(err, 1) {
		return nil, fmt.Errorf("read config: %w", err)
	}
	records := splitNUL(out)
	c := make(Config, 0, len(records)/2)
	for i := 0; i+1 < len(records); i += 2 {
		s := Setting{Scope: records[i]}
		var valued bool
		if s.Key, s.Value, valued = strings.Cut(records[i+1], "\n"); !valued {
			s.Value = "true"
		}
		c = append(c, s)
	}
	return c, nil
}

// Map gives the value that counts of each key, all in lower case.
func (c Config) Map() map[string]string {
	set := make(map[string]string, len(c))
	for _, s := range c {
		set[strings.ToLower(s.Key)] = s.Value
	}
	return set
}

// Outside is c without what the repository's own config files set.
func (c Config) Outside() Config {
	return slices.DeleteFunc(slices.Clone(c), func(s Setting) bool { return !s.outside() })
}

// Settings reads those of keys that any config file sets, lower-case names.
func (r *Repo) Settings(ctx context.Context, pattern string) (map[string]string, error) {
	c, err := r.Config(ctx, pattern)
	return c.Map(), err
}

// OutsideSettings is Settings without what the repository's own config files
// set: those may have come with it.
func (r *Repo) OutsideSettings(ctx context.Context, pattern string) (map[string]string, error) {
	c, err := r.Config(ctx, pattern)
	return c.Outside().Map(), err
}

// PathSetting reads a setting that is a path, with "~", "~name" and "%(prefix)"
// put in by git.
func (r *Repo) PathSetting(ctx context.Context, key string) (string, error) {
	out, err := r.output(ctx, call{dir: r.Worktree, apart: true, args: []string{"config", "-z", "--includes", "--type=path", "--get", key}})
	if err != nil {
		return "", fmt.Errorf("read config: %w", err)
	}
	return strings.TrimSuffix(string(out), "\x00"), nil
}

// Bool reads a setting as git does: whether it is on. Of a setting that is not
// there, or makes no sense, it is what unset says.
func Bool(settings map[string]string, key string, unset bool) bool {
	value, there := settings[key]
	switch strings.ToLower(value) {
	case "true", "yes", "on", "1":
		return true
	case "false", "no", "off", "0":
		return false
	case "":
		return unset && !there
	}
	return unset
}
