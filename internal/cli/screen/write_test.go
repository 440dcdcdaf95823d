package screen

import (
	"os"
	"path/filepath"

	"pgregory.net/rapid"
)

func write(t *rapid.T, dir, name string) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
