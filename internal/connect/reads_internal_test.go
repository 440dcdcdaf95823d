package connect

import (
	"os"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/verbs"
)

// What is given up on a silent daemon must be what only reads.
func TestReadsAreTheVerbsWithTheReadGrant(t *testing.T) {
	table, err := daemon.Local(os.Environ(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range table.List() {
		if want := v.Grant == verbs.GrantRead; reads(v.Name) != want {
			t.Errorf("reads(%q) is %v, the grant is %s", v.Name, !want, v.Grant)
		}
	}
}
