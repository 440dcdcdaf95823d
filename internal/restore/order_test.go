package restore

import (
	"slices"
	"testing"
)

// TestB26ANewSpellingComesAfterTheOldOneWent has renames of case alone: on a
// volume that takes both for one, the old name is the same file.
func TestB26ANewSpellingComesAfterTheOldOneWent(t *testing.T) {
	file := File{Mode: 0o100644, ID: "x"}
	ops := []Op{
		{Path: "readme.md", New: file},
		{Path: "README.md", Old: file},
		{Path: "app/x", New: file},
		{Path: "App/x", Old: file},
		{Path: "other", New: file},
		{Path: "not\xffutf8", Old: file},
		{Path: "not\xfeutf8", New: file},
	}
	writes, removes, late, rules := order(ops, []int{0, 1, 2, 3, 4, 5, 6})
	if !slices.Equal(writes, []int{4, 6}) || !slices.Equal(removes, []int{1, 3, 5}) || !slices.Equal(late, []int{0, 2}) || len(rules) > 0 {
		t.Errorf("written first %v, removed %v, written last %v, rules %v", writes, removes, late, rules)
	}
}
