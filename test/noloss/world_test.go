package noloss

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/restore"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// maxUntracked is the limit for one untracked file, small enough to be crossed.
const maxUntracked = 3000

// world is a work tree in which a person and two agents work at random.
type world struct {
	*gittest.Repo
	t     *testing.T
	rt    *rapid.T
	dir   string
	ahead time.Duration // of our clock: with it, files are old enough to be known by their stat data
	keep  int
	store *checkpoint.Store
	panes []*worker
	held  map[string]saved // the checkpoints that there have to be, by ref
	trash map[string]saved // and those that can come back
	cache map[string]files // what the commit of a checkpoint holds
	log   []string

	refused, kills int64
}

// worker is a pane with its turns.
type worker struct {
	pane checkpoint.Pane
	turn int
	open bool
	base checkpoint.Base
	with []checkpoint.TurnID // turns of the other that were open meanwhile
	then map[int]files       // what was visible when each turn began
}

// saved is a checkpoint as it was when it was taken.
type saved struct {
	checkpoint.Checkpoint
	files files
}

// files is what stands at paths.
type files map[string]gittest.Entry

func newWorld(t *testing.T, rt *rapid.T) *world {
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, rt: rt, dir: dir, held: map[string]saved{}, trash: map[string]saved{}, cache: map[string]files{},
		keep: rapid.SampledFrom([]int{50, 50, 3}).Draw(rt, "keep"),
	}
	if rapid.Bool().Draw(rt, "old files") {
		w.ahead = 1970 * time.Millisecond
	}
	home := filepath.Join(dir, "home")
	w.must(os.MkdirAll(filepath.Join(dir, "repo"), 0o755))
	w.must(os.MkdirAll(home, 0o755))
	w.must(os.MkdirAll(w.outside(), 0o755))
	w.must(os.WriteFile(filepath.Join(w.outside(), "a"), []byte("outside\n"), 0o644))
	w.must(os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(globalConfig), 0o644))
	w.Repo = gittest.At(t, home, filepath.Join(dir, "repo"))
	w.Git("init", "--quiet")
	w.WriteAll(map[string]string{"a": "1\n2\n3\n", "d/a": "2\n", "d/e/b": "3\n", ".gitignore": "*.o\n/ig\n"})
	w.Commit("first")
	w.store = w.open()
	for _, id := range []string{"aaaaaaaa", "bbbbbbbb"} {
		w.panes = append(w.panes, &worker{pane: checkpoint.Pane{ID: id, Window: "w" + id[:1], Session: "s"}, then: map[int]files{}})
	}
	return w
}

// globalConfig keeps git from doing anything by itself, or by the date.
const globalConfig = `[init]
	defaultBranch = main
[gc]
	auto = 0
	reflogExpire = never
	reflogExpireUnreachable = never
[maintenance]
	auto = false
[advice]
	detachedHead = false
	addEmbeddedRepo = false
[core]
	safecrlf = false
`

func (w *world) end() {
	if list, err := os.ReadDir(w.outside()); err != nil || len(list) != 1 {
		w.rt.Fatalf("something was written through a link out of the work tree: %v, %v", list, err)
	}
	_ = filepath.WalkDir(w.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
	w.must(os.RemoveAll(w.dir))
}

func (w *world) open() *checkpoint.Store {
	s, err := openStore(w.t.Context(), w.options())
	if err != nil {
		w.rt.Fatalf("open the store: %v", err)
	}
	return s
}

// options are what a store of w is made with, also in another process.
type options struct {
	Dir   string
	Env   []string
	Ahead time.Duration
	Keep  int
}

func (w *world) options() options {
	return options{Dir: w.Root, Env: w.Env(), Ahead: w.ahead, Keep: w.keep}
}

func openStore(ctx context.Context, o options) (*checkpoint.Store, error) {
	limits := checkpoint.DefaultLimits()
	limits.MaxUntracked, limits.Keep = maxUntracked, o.Keep
	return checkpoint.Open(ctx, checkpoint.Options{
		Dir: o.Dir, Env: o.Env, Now: func() time.Time { return time.Now().Add(o.Ahead) },
		Limits: func() checkpoint.Limits { return limits },
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// step is one thing that can happen.
type step struct {
	name string
	run  func()
}

func (s step) String() string { return s.name }

// times gives a step its weight.
func times(n int, name string, run func()) []step { return slices.Repeat([]step{{name, run}}, n) }

func (w *world) steps() []step {
	return slices.Concat(w.personSteps(), w.ourSteps())
}

// draws

func (w *world) word(words ...string) string { return rapid.SampledFrom(words).Draw(w.rt, "word") }

func (w *world) chance(percent int, what string) bool {
	return rapid.IntRange(1, 100).Draw(w.rt, what) <= percent
}

func (w *world) path() string {
	names := []string{"a", "b", "c.o", "d", "e", "ig", "x y", "ü", "u\u0308", "q\"\\", "n\nl", "-x", ":(x)", "\xff\xfe", "A", "t.txt", "t\tb ", likeTemporary}
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(w.rt, "path"), "/")
}

func (w *world) text() string {
	switch rapid.IntRange(0, 9).Draw(w.rt, "form") {
	case 0:
		return rapid.SampledFrom([]string{"a\r\nb\r\n", "a\r\nb\n", "a\rb\n", "\r\n", "\ufeffx\r\n", "$Id$\n", "$Id: x $\r\n"}).Draw(w.rt, "lines")
	case 1:
		return strings.Repeat("big ", rapid.IntRange(maxUntracked/4-2, maxUntracked/4+2).Draw(w.rt, "size"))
	case 2:
		return "1\n2\n3\n" + rapid.StringMatching(`[xyz]\n`).Draw(w.rt, "more")
	}
	return rapid.StringMatching(`[ab\x00]{0,3}\n?`).Draw(w.rt, "text")
}

// existing is the path of a file or link that is there.
func (w *world) existing() string {
	list := slices.Sorted(maps.Keys(w.disk().only(func(e gittest.Entry) bool { return e.Kind != gittest.Dir })))
	if len(list) == 0 {
		return "none"
	}
	return rapid.SampledFrom(list).Draw(w.rt, "existing")
}

func (w *world) folder() string {
	list := slices.Sorted(maps.Keys(w.disk().only(func(e gittest.Entry) bool { return e.Kind == gittest.Dir })))
	if len(list) == 0 {
		return "none"
	}
	return rapid.SampledFrom(list).Draw(w.rt, "folder")
}

// disk is everything in the work tree but the insides of git directories, and the
// temporary files of a restore that was killed.
func (w *world) disk() files {
	temporary := w.temporary()
	all := files(w.Tree())
	maps.DeleteFunc(all, func(path string, _ gittest.Entry) bool {
		return strings.Contains("/"+path+"/", "/.git/") || temporary[path]
	})
	return all
}

// temporary are the files that the journal of a restore tells of.
func (w *world) temporary() map[string]bool {
	j, err := restore.ReadJournal(w.Path(".git/turnback/trees/main/restore.json"))
	w.must(err)
	if j == nil {
		return nil
	}
	return j.Temporary()
}

// likeTemporary is a name of the person's that looks like one of ours.
const likeTemporary = ".turnback-a-1"

// checkNoTemp refuses temporary files of ours.
func (w *world) checkNoTemp(what string) {
	for path := range w.Tree() {
		if name := path[strings.LastIndexByte(path, '/')+1:]; strings.HasPrefix(name, ".turnback-") && name != likeTemporary {
			w.rt.Fatalf("%s left %q behind", what, path)
		}
	}
}

func (f files) only(keep func(gittest.Entry) bool) files {
	out := files{}
	for path, e := range f {
		if keep(e) {
			out[path] = e
		}
	}
	return out
}

// note adds a line to what a failure tells.
func (w *world) note(what string, v any) {
	text, _ := json.Marshal(v)
	w.log = append(w.log, what+" "+string(text))
	w.rt.Logf("%s %s", what, text)
}

// fingerprint is what belongs to the person in the git directory, less what git
// gc writes there.
func (w *world) fingerprint() gittest.Fingerprint {
	return w.Fingerprint().Without("file info/refs", "file gc.")
}
