package checkpoint_test

import (
	"strings"
	"testing"
)

// core.safecrlf forbids git to take in a file whose line ends it could not give back
// as they are. They are kept beside, so a save goes through.
func TestSaveWithSafeCRLF(t *testing.T) {
	for _, auto := range []string{"true", "input"} {
		t.Run("autocrlf "+auto, func(t *testing.T) {
			r := newRoom(t, map[string]string{"a": "1\n"})
			r.Git("config", "core.safecrlf", "true")
			r.Git("config", "core.autocrlf", auto)
			c := r.take("one", func() {
				r.WriteAll(map[string]string{"a": "1\r\n2\r\n", "lf": "1\n2\n", "crlf": "1\r\n2\r\n", "mixed": "1\r\n2\n"})
			})
			if c.LeftOutCount > 0 {
				t.Errorf("left out: %v", c.LeftOut)
			}
			for _, name := range []string{"a", "lf", "crlf", "mixed"} { // as git stores them without that setting
				if got := r.Git("cat-file", "blob", c.Ref+":"+name); strings.TrimSuffix(got, "\n") != "1\n2" {
					t.Errorf("the blob of %s is %q", name, got)
				}
			}
			then := r.Tree()
			for _, name := range []string{"a", "lf", "crlf", "mixed"} {
				r.Write(name, "x\n")
			}
			r.restore(c.N)
			r.sameTree(then)
		})
	}
}
