package record

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/git"
)

// FuzzNewest reads newest.json as a copied repository can bring it: nothing of it
// is given to git but ids and refs of ours.
func FuzzNewest(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add([]byte(`{"tree":"` + id + `","ref":"refs/turnback/checkpoints/00d333ce/1","commit":"` + id + `","pane":"00d333ce"}`))
	f.Add([]byte(`{"tree":"` + id + `","ref":"--format=%(raw)"}`))
	f.Add([]byte(`{"tree":"--output=x"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, ok := parseNewest(data)
		if !ok {
			return
		}
		if !git.IsID(n.Tree) || n.Commit != "" && !git.IsID(n.Commit) || n.Ref != "" && !strings.HasPrefix(n.Ref, "refs/turnback/checkpoints/") {
			t.Errorf("%q is taken for %+v", data, n)
		}
	})
}
