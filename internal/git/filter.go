package git

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Driver is a filter that files can name in .gitattributes: the programs that
// git runs on their content. An empty text runs nothing.
type Driver struct {
	Name    string
	Clean   string // from the disk into the store
	Smudge  string // from the store to the disk
	Process string // both, in one long run; it wins over the other two
}

// cleans tells whether content is changed on its way into the store.
func (d Driver) cleans() bool { return d.Clean != "" || d.Process != "" }

// smudges tells whether content is changed on its way to the disk.
func (d Driver) smudges() bool { return d.Smudge != "" || d.Process != "" }

// Filter is a driver with its leave to run.
type Filter struct {
	Driver
	Scope   string // where the programs that count are set: system, global, local or worktree
	Allowed bool   // its programs may run
	Trusted bool   // because the person trusts them, not because the machine sets them
}

// Filters are the drivers that the configuration defines, by name. A file can
// name one that is not among them.
type Filters map[string]Filter

// FilterPattern is the pattern of the settings that define filters.
const FilterPattern = `^filter\..*\.(clean|smudge|process|required)$`

// Filters gives the drivers of c. One may run when all that counts of it is what
// the system's or the user's configuration says, or when trusted says so. nil
// trusts none.
func (c Config) Filters(trusted func(Driver) bool) Filters {
	all, outside := c.drivers(), c.Outside().drivers()
	f := Filters{}
	for name, d := range all {
		filter := Filter{Driver: d, Scope: c.scopeOf(name), Allowed: true}
		if d != outside[name] {
			filter.Trusted = trusted != nil && trusted(d)
			filter.Allowed = filter.Trusted
		}
		f[name] = filter
	}
	return f
}

// scopeOf is where the last program of a driver is set.
func (c Config) scopeOf(driver string) string {
	for _, s := range slices.Backward(c) {
		if name, key, ok := cutDriver(s.Key); ok && name == driver && key != "required" {
			return s.Scope
		}
	}
	return ""
}

// cutDriver takes "filter.<name>.<key>" apart.
func cutDriver(setting string) (name, key string, ok bool) {
	rest, ok := strings.CutPrefix(setting, "filter.")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 0 {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}

// drivers are those of which c has a program.
func (c Config) drivers() map[string]Driver {
	found := map[string]Driver{}
	for _, s := range c {
		name, key, ok := cutDriver(s.Key)
		if !ok {
			continue
		}
		d := found[name]
		d.Name = name
		switch key {
		case "clean":
			d.Clean = s.Value
		case "smudge":
			d.Smudge = s.Value
		case "process":
			d.Process = s.Value
		}
		found[name] = d
	}
	maps.DeleteFunc(found, func(_ string, d Driver) bool { return !d.cleans() && !d.smudges() })
	return found
}

// Usable tells whether the filter that a file names has programs that may run.
func (f Filters) Usable(name string) bool { return f[name].Allowed }

// Sorted are the filters by name.
func (f Filters) Sorted() []Filter {
	return slices.SortedFunc(maps.Values(f), func(a, b Filter) int { return cmp.Compare(a.Name, b.Name) })
}

// direction is the way that content goes through a filter.
type direction func(Driver) bool

// environ holds a git command to f: the programs that may run are those that
// were looked at, whatever a config file says by then, and a failure of one is
// an error; all others are none.
func (f Filters) environ(way direction) []string {
	if len(f) == 0 {
		return nil
	}
	var env []string
	n := 0
	set := func(name, key, value string) {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=filter.%s.%s", n, name, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
	}
	for _, filter := range f.Sorted() {
		d := filter.Driver
		if !filter.Allowed {
			d = Driver{Name: d.Name}
		}
		set(d.Name, "clean", d.Clean)
		set(d.Name, "smudge", d.Smudge)
		if d.Process != "" || !filter.Allowed {
			set(d.Name, "process", d.Process) // even an empty one would keep git from the other two
		}
		set(d.Name, "required", strconv.FormatBool(way(d)))
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n))
}

// FiltersOf tells which filter each of paths names, by the attribute files of
// the work tree, or of root in its place; paths that name none are not in the
// result. No index is looked at.
func (r *Repo) FiltersOf(ctx context.Context, root string, paths []string) (map[string]string, error) {
	attributes, err := r.attributesAt(ctx, root, []string{"filter"}, paths)
	named := map[string]string{}
	for path, a := range attributes {
		if name := AttributeValue(a["filter"]); name != "" {
			named[path] = name
		}
	}
	return named, err
}

// at has c take root for the work tree; an empty root changes nothing.
func (r *Repo) at(c *call, root string) {
	if root != "" {
		c.dir, c.env = root, append(c.env, "GIT_DIR="+r.GitDir, "GIT_WORK_TREE="+root, "GIT_COMMON_DIR="+r.CommonDir)
	}
}

// Through is content on its way through git's conversions, with filters that may
// run and no others. There is no other way by which a filter runs.
type Through struct {
	repo    *Repo
	filters Filters
}

// Through gives what moves content between the disk and the store.
func (r *Repo) Through(f Filters) *Through { return &Through{r, f} }

// AddToIndex takes paths into the index at path as they are on disk, storing
// their content with git's own conversions; an absent file leaves the index.
// The user's index is never given here. See Hold for what was stored already.
func (t *Through) AddToIndex(ctx context.Context, path string, paths []string) error {
	err := t.repo.stream(ctx, call{
		dir: t.repo.Worktree, index: path, writes: true,
		stdin: strings.NewReader(joinNUL(paths)), env: t.filters.environ(Driver.cleans),
		args: []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"},
	}, nil)
	if err != nil {
		return fmt.Errorf("store changed files: %w", err)
	}
	return nil
}

// HashLikePath gives the id that content would have as the file path, with
// git's own conversions, without storing it.
func (t *Through) HashLikePath(ctx context.Context, path string, content io.Reader) (string, error) {
	id, err := t.repo.line(ctx, call{
		dir: t.repo.Worktree, stdin: content, env: t.filters.environ(Driver.cleans), args: []string{"hash-object", "--stdin", "--path=" + path},
	})
	if err != nil {
		return "", fmt.Errorf("hash %q: %w", path, err)
	}
	return id, nil
}

// DirtyTracked names the tracked paths that differ from the user's index by
// their stat data or content; of only, where it names any. Paths that git was
// told not to look at are not among them; those whose filter fails are. The
// user's index is not written.
func (t *Through) DirtyTracked(ctx context.Context, only ...string) ([]string, error) {
	fails := func(Driver) bool { return false }
	args := append([]string{"diff-files", "--name-only", "--ignore-submodules=all", "-z", "--"}, only...)
	out, err := t.repo.output(ctx, call{dir: t.repo.Worktree, args: args, env: t.filters.environ(fails)})
	if err != nil {
		return nil, fmt.Errorf("compare with the index: %w", err)
	}
	return splitNUL(out), nil
}

// Smudge writes to w what the blob id is on disk as the file path, by git's own
// conversions and the attribute files of root (empty: the work tree).
func (t *Through) Smudge(ctx context.Context, root, path, id string, w io.Writer) error {
	c := call{
		dir: t.repo.Worktree, index: t.repo.noIndex(), env: t.filters.environ(Driver.smudges),
		args: []string{"cat-file", "--filters", "--path=" + path, id},
	}
	t.repo.at(&c, root)
	if err := t.repo.stream(ctx, c, w); err != nil {
		return fmt.Errorf("make the file %q of its stored form: %w", path, err)
	}
	return nil
}
