package noloss

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/testutil/gittest"
)

// visible lists what git sees of all on disk: tracked files, and untracked ones
// that it does not ignore. Nested repositories and pipes are not git's to keep.
func (w *world) visible(all files, tracked map[string]string) files {
	out := files{}
	add := func(path string) {
		e, ok := all[path]
		if ok && (e.Kind == gittest.File || e.Kind == gittest.Link) && !beyondLink(all, path) {
			out[path] = e
		}
	}
	for path := range tracked {
		add(path)
	}
	listed, err := w.TryGit("ls-files", "-z", "-o", "--exclude-standard")
	if err != nil {
		w.rt.Fatalf("%v", err)
	}
	for path := range strings.SplitSeq(listed, "\x00") {
		add(path)
	}
	return out
}

func beyondLink(all files, path string) bool {
	for i := range path {
		if path[i] == '/' && all[path[:i]].Kind != gittest.Dir {
			return true
		}
	}
	return false
}

// leftOut tells whether c says that it does not hold path.
func leftOut(list []checkpoint.LeftOut, path string) bool {
	return slices.ContainsFunc(list, func(l checkpoint.LeftOut) bool {
		return path == l.Path || strings.HasPrefix(path, l.Path+"/")
	})
}

// checkLeftOut refuses a reason that the disk did not bear out.
func (w *world) checkLeftOut(list []checkpoint.LeftOut, m moment) {
	for _, l := range list {
		e := m.disk[l.Path]
		ok := false
		switch l.Reason {
		case checkpoint.ReasonTooLarge:
			ok = m.sizes[l.Path] > maxUntracked && m.tracked[l.Path] == ""
		case checkpoint.ReasonNestedRepo, checkpoint.ReasonSubmodule:
			ok = e.Kind == gittest.Dir || m.tracked[l.Path] == "160000"
		case checkpoint.ReasonNotRegular:
			ok = e.Kind == gittest.Special
		}
		if !ok && !m.aside[l.Path] {
			w.rt.Fatalf("%q is left out as %q, but it is %+v", l.Path, l.Reason, e)
		}
	}
}

// moment is what there is at a time.
type moment struct {
	disk    files // everything
	seen    files // what git sees of it
	sizes   map[string]int64
	tracked map[string]string // modes in the index
	print   gittest.Fingerprint
	aside   map[string]bool // files that a killed restore had moved out of the way
}

// putAside tells what a killed op had moved out of the way since before, and the
// next command puts there again: with ignore rules, what they hid comes and goes.
func (m *moment) putAside(before moment) {
	m.aside = map[string]bool{}
	rules := false
	for path := range before.disk {
		m.aside[path] = m.disk[path].Kind == ""
		rules = rules || m.aside[path] && filepath.Base(path) == ".gitignore"
	}
	for path := range m.seen {
		if _, saw := before.seen[path]; rules && !saw {
			m.aside[path] = true
			delete(m.seen, path)
		}
	}
}

func (w *world) look() moment {
	m := moment{disk: w.disk(), sizes: map[string]int64{}, tracked: w.tracked(), print: w.fingerprint()}
	m.seen = w.visible(m.disk, m.tracked)
	for path, e := range m.disk {
		if st, err := os.Lstat(w.Path(path)); err == nil && e.Kind == gittest.File {
			m.sizes[path] = st.Size()
		}
	}
	return m
}

// savable is what a checkpoint of m has to hold.
func (m moment) savable() files {
	out := files{}
	for path, e := range m.seen {
		if m.tracked[path] != "" || m.sizes[path] <= maxUntracked {
			out[path] = e
		}
	}
	return out
}

// tracked are the paths of the index with their modes.
func (w *world) tracked() map[string]string {
	out := map[string]string{}
	for rec := range strings.SplitSeq(w.Git("ls-files", "-z", "-s", "-v"), "\x00") {
		if meta, path, ok := strings.Cut(rec, "\t"); ok {
			out[path] = meta[2:8]
		}
	}
	return out
}

// contents is what git holds of a checkpoint, read as docs/format.md says.
func (w *world) contents(c checkpoint.Checkpoint) files {
	if f, ok := w.cache[c.Commit]; ok {
		return f
	}
	tree, beside := w.list(c, c.Commit+":"), map[string]object{}
	if commit := w.besideOf(c); commit != "" {
		beside = w.list(c, commit+":")
	}
	data := w.blobs(c, tree, beside)
	f := files{}
	for path, o := range tree {
		content := data[o.id]
		if _, ok := beside["bytes/crlf/"+path]; ok {
			content = strings.ReplaceAll(content, "\n", "\r\n")
		}
		if raw, ok := beside["bytes/raw/"+path]; ok {
			content = data[raw.id]
		}
		f[path] = entry(o.mode, content)
	}
	for path := range strings.SplitSeq(data[beside["without"].id], "\x00") {
		delete(f, path)
	}
	w.cache[c.Commit] = f
	return f
}

// object is an entry of a tree.
type object struct{ mode, id string }

// list lists the blobs of a tree at any depth.
func (w *world) list(c checkpoint.Checkpoint, treeish string) map[string]object {
	out, err := w.TryGit("ls-tree", "-r", "-z", treeish)
	if err != nil {
		w.rt.Fatalf("read %s: %v", c.Ref, err)
	}
	list := map[string]object{}
	for rec := range strings.SplitSeq(out, "\x00") {
		meta, path, ok := strings.Cut(rec, "\t")
		if m := strings.Fields(meta); ok && m[1] == "blob" {
			list[path] = object{m[0], m[2]}
		}
	}
	return list
}

// besideOf is the commit that keeps what is beside c; empty: there is none.
func (w *world) besideOf(c checkpoint.Checkpoint) string {
	parents, roles, _ := strings.Cut(w.Git("log", "-1", "--format=%P%x00%(trailers:key=Turnback-Parents,valueonly)", c.Commit), "\x00")
	ids := strings.Fields(parents)
	i := slices.Index(strings.Fields(roles), "beside")
	if i < 0 || i >= len(ids) {
		return ""
	}
	return ids[i]
}

// blobs reads the content of every object in lists.
func (w *world) blobs(c checkpoint.Checkpoint, lists ...map[string]object) map[string]string {
	var ask strings.Builder
	for _, list := range lists {
		for _, o := range list {
			ask.WriteString(o.id + "\n")
		}
	}
	out := w.GitInput(ask.String(), "cat-file", "--batch") + "\n"
	data := map[string]string{}
	for out != "\n" && out != "" {
		head, rest, _ := strings.Cut(out, "\n")
		f := strings.Fields(head)
		if len(f) != 3 {
			w.rt.Fatalf("read %s: %q", c.Ref, head)
		}
		size, err := strconv.Atoi(f[2])
		w.must(err)
		data[f[0]], out = rest[:size], rest[size+1:]
	}
	return data
}

// entry is what a blob is on disk, as far as git's mode tells.
func entry(mode, content string) gittest.Entry {
	switch mode {
	case "120000":
		return gittest.Entry{Kind: gittest.Link, Sum: content}
	case "100755":
		return gittest.Entry{Kind: gittest.File, Mode: 0o755, Sum: sum(content)}
	}
	return gittest.Entry{Kind: gittest.File, Mode: 0o644, Sum: sum(content)}
}

func sum(content string) string {
	s := sha256.Sum256([]byte(content))
	return hex.EncodeToString(s[:])
}

// same tells whether a checkpoint that holds a gives back b. Where git is told
// not to look at the executable bit, that bit is not compared.
func (w *world) same(a, b gittest.Entry, exec bool) bool {
	return a.Kind == b.Kind && a.Sum == b.Sum && (!exec || a.Kind == gittest.Link || (a.Mode&0o100 != 0) == (b.Mode&0o100 != 0))
}

func (w *world) execCounts() bool {
	return !strings.Contains(strings.ToLower(w.Read(".git/config")), "filemode = false")
}

// checkSaved compares what git holds of c with what was visible when it was taken.
func (w *world) checkSaved(what string, c checkpoint.Checkpoint, m moment) {
	left, err := w.store.LeftOutAll(w.t.Context(), c)
	if err != nil {
		w.rt.Fatalf("%s: left out: %v", what, err)
	}
	w.checkLeftOut(left, m)
	have, exec := w.contents(c), w.execCounts()
	for path, e := range m.seen {
		if got, ok := have[path]; !leftOut(left, path) && (!ok || !w.same(got, e, exec)) {
			w.rt.Fatalf("%s: checkpoint %d of %s holds %+v at %q, where %+v was", what, c.N, c.Pane.ID, got, path, e)
		}
	}
	for path, e := range have {
		_, ok := m.seen[path]
		switch {
		case !ok && m.aside[path]: // it was put there again
			m.seen[path] = e
		case !ok && !leftOut(left, path):
			w.rt.Fatalf("%s: checkpoint %d of %s holds %q, which was not there\n%s", what, c.N, c.Pane.ID, path, w.scene())
		}
	}
}

// checkLost looks for what was on disk before and is now neither there nor in a
// checkpoint. What is in kept counts as in a checkpoint.
func (w *world) checkLost(what string, before, after files, kept ...checkpoint.Checkpoint) {
	var lost []string
	for path, e := range before {
		if e.Kind == gittest.Dir || after[path] == e || after[path].Kind == e.Kind && after[path].Sum == e.Sum {
			continue
		}
		if !slices.ContainsFunc(kept, func(c checkpoint.Checkpoint) bool { return w.holds(c, path, e) }) && !w.anyHolds(path, e) {
			lost = append(lost, fmt.Sprintf("%q %+v", path, e))
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		w.rt.Fatalf("%s lost what stood at\n%s\n%s", what, strings.Join(lost, "\n"), w.scene())
	}
}

func (w *world) anyHolds(path string, e gittest.Entry) bool {
	for _, s := range w.held {
		if w.holds(s.Checkpoint, path, e) {
			return true
		}
	}
	return false
}

// holds tells whether a restore of c gives the file at path as it was: its tree
// has it, or it was ignored and is kept beside.
func (w *world) holds(c checkpoint.Checkpoint, path string, e gittest.Entry) bool {
	got, ok := w.contents(c)[path]
	return ok && w.same(got, e, false) || w.holdsIgnored(c, path, e)
}

func (w *world) holdsIgnored(c checkpoint.Checkpoint, path string, e gittest.Entry) bool {
	commit := w.besideOf(c)
	if commit == "" {
		return false
	}
	o, ok := w.list(c, commit+":")["overwritten/"+path]
	return ok && w.same(entry(o.mode, w.blobs(c, map[string]object{path: o})[o.id]), e, false)
}

// checkObjects proves that git has every object that our refs need, and that our
// own check says so too.
func (w *world) checkObjects() {
	if out, err := w.TryGit("rev-list", "--objects", "--glob=refs/turnback/*", "--quiet"); err != nil {
		w.rt.Fatalf("objects are missing: %v %s", err, out)
	}
	report, err := w.store.Verify(w.t.Context(), checkpoint.VerifyRequest{})
	if err != nil {
		w.rt.Fatalf("verify: %v", err)
	}
	if len(report.Findings) > 0 {
		w.rt.Fatalf("verify finds %+v", report.Findings)
	}
}
