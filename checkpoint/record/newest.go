package record

import (
	"encoding/json"
	"os"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
)

// Newest is the tree that the next start of a turn is compared with. It is a
// cache beside the refs: when it is lost, the refs are searched.
type Newest struct {
	Tree   string `json:"tree"`
	Disk   string `json:"disk,omitempty"` // as that of a Checkpoint
	Ref    string `json:"ref"`            // the checkpoint that holds Tree; empty after a restore of paths
	Commit string `json:"commit"`
	Name   string `json:"name,omitempty"` // "the work tree after restoring 1"
	Pane   string `json:"pane"`
}

// ReadNewest reads the file at path; the zero value where nothing is known.
func ReadNewest(path string) Newest {
	data, err := os.ReadFile(path)
	if err != nil {
		return Newest{}
	}
	n, _ := parseNewest(data)
	return n
}

// parseNewest reads the content of the file. It may have come with the repository,
// and what it says is given to git.
func parseNewest(data []byte) (Newest, bool) {
	var n Newest
	if json.Unmarshal(data, &n) != nil || !git.IsID(n.Tree) || n.Commit != "" && !git.IsID(n.Commit) {
		return Newest{}, false
	}
	if bytes, _ := BytesOf(n.Disk); bytes != "" && !git.IsID(bytes) {
		return Newest{}, false
	}
	if _, _, ok := ParseRef(n.Ref); n.Ref != "" && !ok {
		return Newest{}, false
	}
	return n, true
}

// Write keeps n for the next time. Where that cannot be done the old one goes:
// without any, the refs are searched.
func (n Newest) Write(path string) {
	data, err := json.Marshal(n)
	if err == nil {
		err = files.Replace(path, data)
	}
	if err != nil {
		_ = os.Remove(path)
	}
}
