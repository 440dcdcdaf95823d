package snapshot

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestChangedSinceTellsWhatWasTouched(t *testing.T) {
	root := t.TempDir()
	names := []string{"old", "written", "mode", "touched-back", "sub/removed", "sub2/kept", "gone/for/long"}
	for _, name := range names[:6] {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("1"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(3 * clockStep)
	since := time.Now()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.WriteFile(filepath.Join(root, "written"), []byte("2"), 0o644))
	do(os.Chmod(filepath.Join(root, "mode"), 0o755))
	do(os.WriteFile(filepath.Join(root, "touched-back"), []byte("2"), 0o644))
	do(os.Chtimes(filepath.Join(root, "touched-back"), since.Add(-time.Hour), since.Add(-time.Hour)))
	do(os.Remove(filepath.Join(root, "sub/removed")))
	got := ChangedSince(root, names, since)
	if diff := cmp.Diff([]string{"written", "mode", "touched-back", "sub/removed"}, got); diff != "" {
		t.Errorf("changed since (-want +got):\n%s", diff)
	}
}
