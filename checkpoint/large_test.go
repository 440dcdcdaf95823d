package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/turnback/turnback/checkpoint"
)

func TestB10LargeFileWhereAFolderWas(t *testing.T) {
	r := newRoom(t, map[string]string{"a": "1"})
	r.store = open(t, r.Repo, func(o *checkpoint.Options) {
		l := checkpoint.DefaultLimits()
		l.MaxUntracked = 3000
		o.Limits = func() checkpoint.Limits { return l }
	})
	r.take("one", func() { r.Write("x/u", "2") })
	r.Remove("x")
	r.Write("x", strings.Repeat("b", 4000))
	r.restore(1)
	if r.Read("x/u") != "2" {
		t.Error("not restored")
	}
}
