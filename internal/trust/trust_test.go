package trust_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/trust"
)

func TestTrustIsOfTheWholeTextInOneRepository(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trust")
	book := trust.Open(dir)
	d := git.Driver{Name: "sec", Clean: "gpg -e", Smudge: "gpg -d"}
	if err := book.Set("/r/.git", []git.Driver{d}); err != nil {
		t.Fatal(err)
	}
	changed := d
	changed.Clean = "curl evil"
	for name, c := range map[string]struct {
		repo string
		d    git.Driver
		want bool
	}{
		"what was allowed":   {"/r/.git", d, true},
		"another program":    {"/r/.git", changed, false},
		"another repository": {"/s/.git", d, false},
	} {
		if got := trust.Open(dir).Trusts(c.repo, c.d); got != c.want {
			t.Errorf("%s: trusted is %t", name, got)
		}
	}
	if had, err := book.Remove("/r/.git"); err != nil || !had {
		t.Errorf("remove: %t, %v", had, err)
	}
	if book.Trusts("/r/.git", d) {
		t.Error("it is trusted after it was taken back")
	}
}

func TestWhatCannotBeReadIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	book := trust.Open(dir)
	d := git.Driver{Name: "sec", Clean: "x"}
	if err := book.Set("/r/.git", []git.Driver{d}); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d files in the book, %v", len(list), err)
	}
	page := filepath.Join(dir, list[0].Name())
	for _, text := range []string{"", "{", `{"format":2,"repository":"/r/.git","filters":[{"Name":"sec","Clean":"x"}]}`} {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if book.Trusts("/r/.git", d) {
			t.Errorf("a page with %q trusts", text)
		}
	}
	nowhere := trust.Open("")
	if nowhere.Trusts("/r/.git", d) || nowhere.Set("/r/.git", nil) == nil {
		t.Error("a book without a place trusts, or says that it remembers")
	}
}
