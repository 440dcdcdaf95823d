package scan

import (
	"encoding/binary"
	"hash/crc32"
	"testing"
)

// FuzzTable reads the table of stat data as a copied repository can bring it,
// with a checksum that fits. What is taken can be written again.
func FuzzTable(f *testing.F) {
	t := newTable()
	f.Add(encode(t, 20))
	e := t.root.get("a")
	e.kind, e.idxMode = regular, 0o100644
	e.set(fTracked)
	t.root.below(t.root.get("d")).get("b").kind = link
	f.Add(encode(t, 20))
	f.Add(encode(t, 32))
	f.Add([]byte(tableMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) >= 4 {
			data = binary.LittleEndian.AppendUint32(data[:len(data)-4:len(data)-4], crc32.ChecksumIEEE(data[:len(data)-4]))
		}
		for _, idLen := range []int{20, 32} {
			table, err := decode(data, idLen)
			if err != nil {
				continue
			}
			if _, err := decode(encode(table, idLen), idLen); err != nil {
				t.Errorf("%q cannot be written again", data)
			}
		}
	})
}
