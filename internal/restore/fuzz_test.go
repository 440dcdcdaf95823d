package restore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/git"
)

// FuzzJournal reads the journal of a restore as a copied repository can bring it:
// one that is taken names no path outside of the work tree.
func FuzzJournal(f *testing.F) {
	const head = `{"format":1,"run_id":"r1","pane":"00d333ce","n":2,"safety":3,"ops":[`
	f.Add([]byte(head + `{"path":"a","old":{"mode":33188,"id":"x"},"new":{"mode":0,"id":""}}],"folders":["d","d/e"]}`))
	f.Add([]byte(head + `{"path":"../a","old":{"mode":0,"id":""},"new":{"mode":33188,"id":"x"}}]}`))
	f.Add([]byte(head + `{"path_base64":"LmdpdC9ob29rcw==","new":{"mode":33261,"id":"x"}}]}`))
	f.Add([]byte(head + `{"path":"l","new":{"mode":40960,"id":"x"}},{"path":"l/x","new":{"mode":33188,"id":"x"}}]}`))
	f.Add([]byte(head + `],"folders":["/etc"]}`))
	f.Add([]byte(`{"format":1,"run_id":"../x","pane":"p","n":-1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		j, err := parseJournal(data)
		if err != nil {
			return
		}
		for _, op := range j.Ops {
			if git.CheckPath(op.Path) != nil {
				t.Errorf("path %q is taken", op.Path)
			}
		}
		if strings.ContainsAny(j.RunID, "/.\x00") || strings.ContainsAny(j.Pane, "/.\x00") {
			t.Errorf("run %q of pane %q is taken", j.RunID, j.Pane)
		}
		back, err := json.Marshal(j)
		if err != nil {
			return // what was noted at the end is no JSON
		}
		again, err := parseJournal(back)
		if err != nil || len(again.Ops) != len(j.Ops) {
			t.Fatalf("%q cannot be read again: %v", back, err)
		}
		for i := range j.Ops {
			if again.Ops[i] != j.Ops[i] {
				t.Errorf("%+v came back as %+v", j.Ops[i], again.Ops[i])
			}
		}
	})
}

// FuzzPlan makes the ops of a restore of what hostile trees say, as pairs of a
// mode and a path: those that are taken are put in an order that leaves none out.
func FuzzPlan(f *testing.F) {
	f.Add("100644 a\x00120000 d\x00100644 d/x")
	f.Add("100644 a\x000 a/b\x00100644 .gitattributes\x000 c/.gitattributes")
	f.Add("120000 .gitmodules\x00104755 s\x00100644 s\x00100644 s")
	f.Fuzz(func(t *testing.T, list string) {
		var ops []Op
		for rec := range strings.SplitSeq(list, "\x00") {
			var mode uint32
			head, path, _ := strings.Cut(rec, " ")
			if _, err := fmt.Sscanf(head, "%o", &mode); err != nil {
				continue
			}
			op := Op{Path: path, Old: File{Mode: git.ModeFile, ID: "old"}}
			if mode != 0 {
				op.Old, op.New = File{}, File{Mode: mode, ID: "new"}
			}
			ops = append(ops, op)
		}
		if CheckOps(ops) != nil {
			return
		}
		which := make([]int, len(ops))
		for i := range ops {
			which[i] = i
			if git.CheckEntry(ops[i].Path, ops[i].New.Mode) != nil {
				t.Errorf("%+v is taken", ops[i])
			}
		}
		writes, removes, late, rules := order(ops, which)
		if n := len(writes) + len(removes) + len(late) + len(rules); n != len(ops) {
			t.Errorf("%d of %d ops are in the order", n, len(ops))
		}
	})
}
