package gittest

import (
	"os"
	"path/filepath"
	"strings"
)

// LoseObject takes one object away from the repository, as a bad disk or
// somebody's hand would: every pack becomes loose objects, and that one goes.
func (r *Repo) LoseObject(id string) {
	r.t.Helper()
	objects := r.Git("rev-parse", "--path-format=absolute", "--git-path", "objects")
	packs, err := filepath.Glob(objects + "/pack/*.pack")
	if err != nil {
		r.t.Fatalf("list packs: %v", err)
	}
	for _, pack := range packs {
		data, err := os.ReadFile(pack)
		if err != nil {
			r.t.Fatalf("read pack: %v", err)
		}
		all, err := filepath.Glob(strings.TrimSuffix(pack, "pack") + "*")
		if err != nil {
			r.t.Fatalf("list pack: %v", err)
		}
		for _, file := range all {
			if err := os.Remove(file); err != nil {
				r.t.Fatalf("remove pack: %v", err)
			}
		}
		r.GitInput(string(data), "unpack-objects", "-q")
	}
	if err := os.Remove(filepath.Join(objects, id[:2], id[2:])); err != nil {
		r.t.Fatalf("lose object: %v", err)
	}
}
