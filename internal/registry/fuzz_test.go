package registry

import "testing"

// FuzzRecord reads the live record of a window as a copied repository can bring it.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"id":"00d333ce","window":"build"}`))
	f.Add([]byte(`{"id":"../../x"}`))
	f.Add([]byte(`{"id":"00d333ce","turn":-1,"updated":"x"}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if w, err := parseRecord(data, "00d333ce"); err == nil && w.ID != "00d333ce" {
			t.Errorf("%q is taken for a record of another window", data)
		}
	})
}
