package git

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/git/rawdiff"
)

// FuzzPathLists reads the NUL-separated lists that git prints: of the index, of
// differences, of refs. Whatever they hold, nothing but an error comes of it.
func FuzzPathLists(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("H 100644 " + id + " 0\ta b\nc\x00S 120000 " + id + " 0\tl\x00")
	f.Add(":100644 100755 " + id + " " + id + " M\x00a\x00:100644 100644 " + id + " " + id + " R100\x00a\x00b\x001\t2\tb\x00-\t-\t\x00a\x00b\x00")
	f.Add(id + " " + id + "\x00:100644 100755 " + id + " " + id + " M\x00a\x00")
	f.Add(":\x00\x00:100644 100644 a b \x00")
	f.Add("refs/x\x00" + id + "\x00commit\x00\x00" + id + "\x00" + id + " " + id + "\x00s\n\nTurnback-N: 1\n\x00\n")
	f.Add("R\x00\x00\x00\x00\x00\x00\x00\n\x00\x00\x00\x00\x00\x00\x00\n")
	f.Fuzz(func(t *testing.T, list string) {
		records := splitNUL([]byte(list))
		for _, rec := range records {
			if e, err := parseIndexEntry(rec); err == nil && e.Path == "" {
				t.Errorf("%q is an entry without a path", rec)
			}
		}
		if changes, err := rawdiff.Parse(records); err == nil {
			for _, c := range changes {
				if c.Status == 0 || (c.Status == 'R') != (c.OldPath != "") && c.Status != 'C' && c.Path != "" {
					t.Errorf("%q gives %+v", list, c)
				}
			}
		}
		if len(records) > 0 {
			first, second, _ := strings.Cut(records[0], " ")
			if paths, err := rawdiff.ParsePairs(slices.Clone(records), [][2]string{{first, second}}); err == nil && len(paths) != 1 {
				t.Errorf("%q gives %q", list, paths)
			}
		}
		_, _ = parseRefs([]byte(list))
		if back := joinNUL(records); len(records) > 0 && back != strings.TrimSuffix(list, "\x00")+"\x00" {
			t.Errorf("%q came back as %q", list, back)
		}
	})
}

// FuzzTree reads tree objects as a repository from anywhere can have them. What
// CheckTree lets through comes back when it is written again.
func FuzzTree(f *testing.F) {
	id := strings.Repeat("\x01", 20)
	f.Add([]byte("100644 a\x00" + id + "40000 b\x00" + id + "120000 c\x00" + id + "160000 d\x00" + id))
	f.Add([]byte("40000 a\x00" + id + "100644 a.b\x00" + id))
	f.Add([]byte("100644 .git\x00" + id))
	f.Add([]byte("120000 .gitmodules\x00" + id))
	f.Add([]byte("100644 a\x00" + id + "100644 a\x00" + id))
	f.Add([]byte("777777777777777777777 a\x00" + id))
	f.Add([]byte("100644 a\x00short"))
	f.Add([]byte("100644a\x00" + id))
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := ParseTree(data, 20)
		if err != nil || CheckTree(entries) != nil {
			return
		}
		var back bytes.Buffer
		for _, e := range entries {
			raw, err := hex.DecodeString(e.ID)
			if err != nil || CheckEntry(e.Path, e.Mode) != nil || strings.Contains(e.Path, "/") {
				t.Fatalf("%+v is let through", e)
			}
			fmt.Fprintf(&back, "%o %s\x00%s", e.Mode, e.Path, raw)
		}
		again, err := ParseTree(back.Bytes(), 20)
		if err != nil || !slices.Equal(again, entries) {
			t.Errorf("%+v came back as %+v, %v", entries, again, err)
		}
	})
}
