package beside

import (
	"errors"
	"testing"

	"github.com/turnback/turnback/internal/git"
)

// FuzzDecode reads every kind of entry, with content from anywhere. What is taken
// comes back the same once it was written again.
func FuzzDecode(f *testing.F) {
	names := []string{nameLeftOut, nameUncertain, nameNamed, nameLFS, nameBytes, nameOverwritten}
	names = append(names, nameModes, nameFolders, nameExclude, nameExcludes, nameIgnoreCase, nameIndex, NameIndexBlobs, "of a later version")
	for _, name := range names {
		for _, data := range []string{"", "\x00", "too large\tbig.bin\x00", "0600 a\x000700 d\x00", "a", "100644 " + hash('a') + " 0\ta\x00", hash('a') + hash('b')[:24] + "\n"} {
			f.Add(name, uint32(git.ModeFile), []byte(data))
		}
		f.Add(name, uint32(git.ModeTree), []byte{})
		f.Add(name, uint32(git.ModeLink), []byte("x"))
	}
	f.Fuzz(func(t *testing.T, name string, mode uint32, data []byte) {
		entries := []git.Entry{{Path: name, Mode: mode, ID: hash('a')}}
		c, err := Decode(entries, func(string) ([]byte, error) { return data, nil })
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("%q: %v is no ErrMalformed", name, err)
			}
			return
		}
		_ = c.Parts()
	})
}

func hash(c byte) string {
	b := make([]byte, 40)
	for i := range b {
		b[i] = c
	}
	return string(b)
}
