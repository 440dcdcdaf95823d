package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the repository, seen from this package's directory.
const root = "../.."

// Pages that several tests read.
const (
	readme = "README.md"
	manual = "docs/manual.md"
	jsonMD = "docs/json.md"
	format = "docs/format.md"
)

// page is a page of the documentation.
type page struct {
	name string // relative to the root
	text string
}

func read(t *testing.T, name string) page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return page{name, string(text)}
}

// pages reads every page.
func pages(t *testing.T) []page {
	t.Helper()
	names := []string{readme, "CONTRIBUTING.md"}
	for _, pattern := range []string{"docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: found %d, %v", pattern, len(found), err)
		}
		for _, path := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(path), root+"/"))
		}
	}
	all := make([]page, 0, len(names))
	for _, name := range names {
		all = append(all, read(t, name))
	}
	return all
}

// section gives the text below a heading, up to the next heading of the same or
// a higher level; empty: there is no such heading.
func (p page) section(heading string) string {
	level := strings.IndexByte(heading, ' ')
	var b strings.Builder
	inside, fenced := false, false
	for line := range strings.Lines(p.text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case !fenced && strings.TrimRight(line, "\n") == heading:
			inside = true
		case !fenced && inside && marks > 0 && marks <= level:
			return b.String()
		case inside:
			b.WriteString(line)
		}
	}
	return b.String()
}

// block is the text between two fences.
type block struct {
	kind string // the word behind the first fence; may be empty
	text string
}

// blocks gives the fenced blocks of the page, and the page's text without them.
func (p page) blocks() (found []block, rest string) {
	var b, outside strings.Builder
	kind, fenced := "", false
	for line := range strings.Lines(p.text) {
		word, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && fenced:
			found = append(found, block{kind, b.String()})
			b.Reset()
			fenced = false
		case fence:
			kind, fenced = word, true
		case fenced:
			b.WriteString(line)
		default:
			outside.WriteString(line)
		}
	}
	return found, outside.String()
}

// code gives what stands between backquotes in text.
func code(text string) []string {
	var found []string
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// has says whether text names word between backquotes, alone or at the start of
// what stands there.
func has(text, word string) bool {
	return slices.ContainsFunc(code(text), func(c string) bool {
		return c == word || strings.HasPrefix(c, word+" ") || strings.HasPrefix(c, word+":")
	})
}
