package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// TestLinksLeadSomewhere follows every link to a place in the repository, and to
// a heading there.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for _, p := range pages(t) {
		_, text := p.blocks()
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			path := filepath.Join(root, p.name)
			if target != "" {
				path = filepath.Join(filepath.Dir(path), filepath.FromSlash(target))
			}
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s links to %s: %v", p.name, m[1], err)
				continue
			}
			if anchor != "" && !hasAnchor(t, path, anchor) {
				t.Errorf("%s links to %s, where no heading has that name", p.name, m[1])
			}
		}
	}
}

func hasAnchor(t *testing.T, path, anchor string) bool {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, outside := page{text: string(text)}.blocks()
	for line := range strings.Lines(outside) {
		if heading := strings.TrimLeft(line, "#"); heading != line && slug(heading) == anchor {
			return true
		}
	}
	return false
}

// slug is the anchor that a heading gets where the pages are shown.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		default:
			return -1
		}
	}, strings.TrimSpace(heading))
}

// TestDecisionsAreDated checks the names of the pages, which say when a decision
// was taken, against their titles.
func TestDecisionsAreDated(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^docs/decisions/(\d{4}-\d\d-\d\d)-[a-z0-9-]+\.md$`)
	for _, p := range pages(t) {
		if !strings.HasPrefix(p.name, "docs/decisions/") {
			continue
		}
		m := name.FindStringSubmatch(p.name)
		if m == nil || !strings.HasPrefix(p.text, "# "+m[1]+": ") {
			t.Errorf("%s: name and title do not begin with one date", p.name)
		}
	}
}
