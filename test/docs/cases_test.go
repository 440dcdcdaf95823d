package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// caseIDs are the rows of docs/cases.md.
func caseIDs() []int {
	return []int{
		1, 2, 4, 5, 7, 8, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 26, 28, 29, 31, 32, 34, 35, 37, 38, 40, 41, 43, 44, 46, 47, 49, 50, 52, 53,
		55, 56, 58, 59, 61, 62, 64, 65, 67, 68, 70, 71, 73, 74, 76, 77, 79, 80, 82, 83, 85, 86, 88, 89, 91, 92, 94, 95, 97, 98, 100, 101, 103, 104,
		106, 107, 109, 110, 133, 134, 136, 137, 139, 140, 142, 143, 145, 146, 148,
	}
}

// TestEveryCaseHasATest holds docs/cases.md against the tests that there are.
func TestEveryCaseHasATest(t *testing.T) {
	t.Parallel()
	p := read(t, "docs/cases.md")
	row := regexp.MustCompile(`(?m)^\| B(\d+) \| ([^|]+) \| (.+) \|$`)
	seen := map[int]bool{}
	for _, m := range row.FindAllStringSubmatch(p.text, -1) {
		id, err := strconv.Atoi(m[1])
		if err != nil || seen[id] {
			t.Errorf("B%s stands twice", m[1])
		}
		seen[id] = true
		tests := 0
		for where := range strings.SplitSeq(m[3], "<br>") {
			tests += checkCase(t, "B"+m[1], where)
		}
		if tests == 0 {
			t.Errorf("B%s has no test", m[1])
		}
	}
	for _, id := range caseIDs() {
		if !seen[id] {
			t.Errorf("B%02d is missing", id)
		}
		delete(seen, id)
	}
	for id := range seen {
		t.Errorf("B%02d is no case", id)
	}
}

// checkCase looks for what a row names, and counts tests.
func checkCase(t *testing.T, id, where string) int {
	t.Helper()
	if strings.HasPrefix(where, "[") { // a page: the test of links sees to it
		return 0
	}
	dir, name, isTest := strings.Cut(where, " ")
	dir = strings.Trim(dir, "`")
	if !isTest {
		if _, err := os.Stat(filepath.Join(root, dir)); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		return 1
	}
	files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(source), "\nfunc "+name+"(") {
			return 1
		}
	}
	t.Errorf("%s: there is no %s in %s", id, name, dir)
	return 0
}
