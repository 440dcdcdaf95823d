package noloss

import (
	"os"
	"path/filepath"
	"strings"

	"pgregory.net/rapid"

	"github.com/turnback/turnback/internal/testutil/gittest"
)

// personSteps are what people, agents and their git commands do. Nothing is
// checked after them: they may change whatever they like.
func (w *world) personSteps() []step {
	git := func(args ...string) func() { return func() { _, _ = w.TryGit(args...) } }
	var all []step
	add := func(n int, name string, run func()) { all = append(all, times(n, name, run)...) }

	add(6, "write", func() { w.put(w.path(), w.text()) })
	add(4, "rewrite", func() { w.put(w.existing(), w.text()) })
	add(2, "rewrite in place", w.writeInPlace)
	add(2, "remove", func() { _ = os.RemoveAll(w.Path(w.existing())) })
	add(1, "remove folder", func() { _ = os.RemoveAll(w.Path(w.folder())) })
	add(2, "move", func() { from, to := w.existing(), w.path(); _ = os.Rename(w.Path(from), w.room(to)) })
	add(1, "move folder", w.moveFolder)
	add(2, "link", func() { _ = os.Symlink(w.word("a", "d", w.outside(), "nowhere", "."), w.room(w.path())) })
	add(2, "chmod", w.chmod)
	add(1, "chmod folder", func() {
		_ = os.Chmod(w.Path(w.folder()), rapid.SampledFrom([]os.FileMode{0o755, 0o700, 0o750}).Draw(w.rt, "mode"))
	})
	add(1, "empty folder", func() { _ = os.MkdirAll(w.room(w.path()), 0o755) })
	add(2, "ignore", func() { w.put(w.word(".gitignore", "d/.gitignore"), w.word("", "*.o\n", "b\n", "e/\n", "*\n!a\n")) })
	add(1, "exclude", func() { w.inGit("info/exclude", w.word("", "b\n", "x*\n", "d/\n")) })
	add(1, "excludes file", func() { w.inHome(".config/git/ignore", w.word("", "*.txt\n", "A\n")) })
	add(2, "attributes", func() {
		w.put(".gitattributes", w.word("", "* text=auto\n", "*.txt text eol=crlf\n", "a text\n", "* -text\n", "b ident\n", "*.txt text working-tree-encoding=UTF-16\n"))
	})
	add(1, "autocrlf", func() { _, _ = w.TryGit("config", "core.autocrlf", w.word("true", "input", "false")) })
	add(1, "file mode", func() { _, _ = w.TryGit("config", "core.fileMode", w.word("true", "true", "false")) })
	add(1, "nested", w.nest)
	add(1, "nested no more", func() { _ = os.RemoveAll(w.Path(w.folder() + "/.git")) })
	add(1, "pipe", w.pipe)

	add(2, "stage", func() { _, _ = w.TryGit("add", "--", w.existing()) })
	add(1, "stage all", git("add", "--all"))
	add(1, "stage ignored", func() { _, _ = w.TryGit("add", "--force", "--", w.existing()) })
	add(1, "intend to add", func() { _, _ = w.TryGit("add", "-N", "--", w.existing()) })
	add(1, "unstage", func() { _, _ = w.TryGit("rm", "-r", "-q", "--cached", "--", w.existing()) })
	add(1, "skip work tree", func() {
		_, _ = w.TryGit("update-index", w.word("--skip-worktree", "--no-skip-worktree", "--assume-unchanged", "--no-assume-unchanged"), "--", w.existing())
	})
	add(2, "commit", git("commit", "-q", "-a", "-m", "c"))
	add(1, "amend", git("commit", "-q", "-a", "--amend", "-m", "d"))
	add(1, "stash", git("stash", "-q"))
	add(1, "stash all", git("stash", "-q", "-u"))
	add(1, "pop", git("stash", "pop", "-q"))
	add(1, "branch", func() { _, _ = w.TryGit("checkout", "-q", "-B", w.word("main", "two")) })
	add(1, "switch", func() { _, _ = w.TryGit("checkout", "-q", "-f", w.word("main", "two")) })
	add(1, "detach", git("checkout", "-q", "--detach"))
	add(1, "reset", func() {
		_, _ = w.TryGit("reset", "-q", w.word("--soft", "--mixed", "--hard"), w.word("HEAD", "HEAD~1"))
	})
	add(1, "merge", func() { _, _ = w.TryGit("merge", "-q", "--no-edit", w.word("main", "two")) })
	add(1, "conflict", w.conflict)
	add(1, "rebase", func() { _, _ = w.TryGit("rebase", "-q", w.word("main", "two")) })
	add(1, "give up", func() { _, _ = w.TryGit(w.word("merge", "rebase"), "--abort") })
	add(1, "clean", git("clean", "-q", "-d", "-f"))
	return all
}

// room makes place at path and gives its full name.
func (w *world) room(path string) string {
	for i := range path {
		if path[i] == '/' {
			if st, err := os.Lstat(w.Path(path[:i])); err == nil && !st.IsDir() {
				_ = os.Remove(w.Path(path[:i]))
			}
		}
	}
	_ = os.RemoveAll(w.Path(path))
	_ = os.MkdirAll(filepath.Dir(w.Path(path)), 0o755)
	return w.Path(path)
}

func (w *world) put(path, text string) { _ = os.WriteFile(w.room(path), []byte(text), 0o644) }

func (w *world) moveFolder() {
	from, to := w.folder(), w.path()
	if from == to || strings.HasPrefix(from, to+"/") || strings.HasPrefix(to, from+"/") {
		return
	}
	_ = os.Rename(w.Path(from), w.room(to))
}

// outside is a folder that no step may change.
func (w *world) outside() string { return filepath.Join(w.dir, "outside") }

// writeInPlace keeps the inode, and the size where it can.
func (w *world) writeInPlace() {
	full := w.Path(w.existing())
	if st, err := os.Lstat(full); err != nil || !st.Mode().IsRegular() {
		return
	}
	if f, err := os.OpenFile(full, os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteString(w.word("A", "BB", "\r\n"))
		_ = f.Close()
	}
}

func (w *world) chmod() {
	full := w.Path(w.existing())
	if st, err := os.Lstat(full); err == nil && st.Mode().IsRegular() {
		_ = os.Chmod(full, rapid.SampledFrom([]os.FileMode{0o644, 0o755, 0o600, 0o700, 0o444, 0o664}).Draw(w.rt, "mode"))
	}
}

func (w *world) inGit(path, text string) {
	_ = os.MkdirAll(filepath.Dir(w.Path(".git/"+path)), 0o755)
	_ = os.WriteFile(w.Path(".git/"+path), []byte(text), 0o644)
}

func (w *world) inHome(path, text string) {
	full := filepath.Join(w.Home, path)
	_ = os.MkdirAll(filepath.Dir(full), 0o755)
	_ = os.WriteFile(full, []byte(text), 0o644)
}

// nest makes a folder a repository of its own, with or without a commit.
func (w *world) nest() {
	path := w.folder()
	if path == "none" {
		return
	}
	inner := gittest.At(w.t, w.Home, w.Path(path))
	if _, err := inner.TryGit("init", "-q"); err == nil && rapid.Bool().Draw(w.rt, "with commit") {
		_, _ = inner.TryGit("add", "--all")
		_, _ = inner.TryGit("commit", "-q", "--allow-empty", "-m", "inner")
	}
}

// conflict leaves a merge that cannot be finished.
func (w *world) conflict() {
	for _, side := range []string{"two", "main"} {
		if _, err := w.TryGit("checkout", "-q", "-f", "-B", side); err != nil {
			return
		}
		w.put("a", side+w.word("1", "2")+"\n")
		_, _ = w.TryGit("commit", "-q", "-a", "-m", side)
		if side == "two" {
			_, _ = w.TryGit("checkout", "-q", "-f", "-B", "main", "HEAD~1")
		}
	}
	_, _ = w.TryGit("merge", "-q", "--no-edit", "two")
}
