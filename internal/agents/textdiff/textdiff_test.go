package textdiff

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestUnified(t *testing.T) {
	tests := []struct{ name, before, after, want string }{
		{"equal", "a\n", "a\n", ""},
		{"new", "", "a\nb\n", "--- old\n+++ new\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"gone", "a\n", "", "--- old\n+++ new\n@@ -1,1 +0,0 @@\n-a\n"},
		{
			"in the middle", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5x\n6\n7\n8\n9\n",
			"--- old\n+++ new\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+5x\n 6\n 7\n 8\n",
		},
		{
			"no line end", "a", "a\nb", "--- old\n+++ new\n@@ -1,1 +1,2 @@\n-a\n\\ No newline at end of file\n+a\n+b\n\\ No newline at end of file\n",
		},
		{
			"two places", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n",
			"--- old\n+++ new\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -8,3 +9,4 @@\n 8\n 9\n 10\n+11\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Unified("old", "new", tt.before, tt.after)); diff != "" {
				t.Errorf("Unified (-want +got):\n%s", diff)
			}
		})
	}
}

// git takes every difference, and makes the one text of the other with it.
func TestGitApplies(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"})
		text := func(name string) string {
			lines := rapid.SliceOfN(line, 1, 24).Draw(t, name)
			return strings.Join(lines, "") + rapid.SampledFrom([]string{"", "end"}).Draw(t, name+" end")
		}
		before, after := text("before"), text("after")
		patch := Unified("a/f", "b/f", before, after)
		if before == after {
			if patch != "" {
				t.Fatalf("equal texts differ:\n%s", patch)
			}
			return
		}
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s\n%s", err, out, patch)
		}
		got, err := os.ReadFile(file)
		if err != nil || string(got) != after {
			t.Fatalf("%v: %q, want %q with\n%s", err, got, after, patch)
		}
	})
}
