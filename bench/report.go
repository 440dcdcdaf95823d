package main

import (
	"fmt"
	"strings"
	"time"
)

// goalSize is the number of files that most goals are about.
const goalSize = 50_000

// row is a line of the table.
type row struct {
	key   string
	label string
}

func rows() []row {
	return []row{
		{keyStatus, "git status --porcelain"},
		{keyA, "A: copy index, add -A, write-tree, commit-tree, update-ref"},
		{keyDone, "turnback set-agent-state done"},
		{keyAlone, "turnback checkpoint save, no daemon"},
		{keyRefs, fmt.Sprintf("git for-each-ref, %d refs", listLength)},
		{keyList, fmt.Sprintf("turnback checkpoint list, %d", listLength)},
		{keyReadTree, "git read-tree -m -u, 1 file"},
		{keyRestore, "turnback checkpoint restore --path, 1 file"},
		{keyBefore, "  library: look, plan, safety checkpoint"},
		{keyWrite, "  library: the file swapped in and compared"},
		{keyAfter, "  library: look at what the restore left"},
		{keyHook, "turnback hook claude PostToolUse"},
		{keyGit, "git --version"},
		{keyVersion, "turnback version"},
	}
}

// goal is what a row should keep to: a ratio to another row, or a time.
type goal struct {
	key  string
	to   string // another row; empty: a time
	most float64
	at   func(repoSpec) bool
}

// goals are those of a saver that looks at every file.
func goals() []goal {
	plain := func(s repoSpec) bool { return s.files == goalSize && !s.untracked }
	laden := func(s repoSpec) bool { return s.files == goalSize && s.untracked }
	every := func(repoSpec) bool { return true }
	return []goal{
		{keyDone, keyA, 0.80, plain},
		{keyDone, keyA, 0.25, laden},
		{keyList, keyRefs, 3, every},
		{keyRestore, keyReadTree, 0.25, plain},
		{keyWrite, keyReadTree, 0.25, plain},
		{keyHook, "", 15, every},
	}
}

// report is what one repository's run came to.
type report struct {
	spec                  repoSpec
	dirs                  int
	rounds                int
	started               time.Time
	loadBefore, loadAfter string
	figures               *figures
	memory                memory
}

func (r report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s folders, %d rounds, %s, load %s before, %s after\n",
		r.spec, thousands(r.dirs), r.rounds, r.started.Format("2006-01-02 15:04"), r.loadBefore, r.loadAfter)
	const layout = "%-59s%10s%9s%8s%10s  %-25s%6s  %s\n"
	fmt.Fprintf(&b, layout, "", "median ms", "least", "to A", "to status", "goal", "is", "kept")
	for _, row := range rows() {
		v := r.judge(row.key)
		fmt.Fprintf(&b, layout, row.label, millis(r.figures.median(row.key)), millis(r.figures.least(row.key)),
			ratio(r.figures.ratio(row.key, keyA)), ratio(r.figures.ratio(row.key, keyStatus)), v.goal, v.is, v.kept)
	}
	if early := r.figures.early[keyDone]; early > 0 {
		fmt.Fprintf(&b, "set-agent-state done: %d of its saves took longer than it waits; those samples are too short\n", early)
	}
	if r.memory.now > 0 {
		fmt.Fprintf(&b, "daemon: %d MB, at most %d MB\n", r.memory.now/1024, r.memory.peak/1024)
	}
	fmt.Fprintln(&b, "trees equal to git's: by the daemon, without one, by the library")
	return b.String()
}

// verdict compares a row with its goal, in words; empty: it has none.
type verdict struct{ goal, is, kept string }

func (r report) judge(key string) verdict {
	for _, g := range goals() {
		if g.key != key || !g.at(r.spec) {
			continue
		}
		is, unit := float64(r.figures.median(key))/float64(time.Millisecond), "ms"
		if g.to != "" {
			is, unit = r.figures.ratio(key, g.to), "of "+g.to
		}
		kept := "no"
		if is <= g.most {
			kept = "yes"
		}
		return verdict{fmt.Sprintf("at most %.4g %s", g.most, unit), ratio(is), kept}
	}
	return verdict{}
}

func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return "-" // there is no sample
	case ms < 100:
		return fmt.Sprintf("%.1f", ms)
	default:
		return fmt.Sprintf("%.0f", ms)
	}
}

func ratio(r float64) string {
	switch {
	case r == 0:
		return "-"
	case r < 0.1:
		return fmt.Sprintf("%.3f", r)
	default:
		return fmt.Sprintf("%.2f", r)
	}
}
