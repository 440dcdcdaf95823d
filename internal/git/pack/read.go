package pack

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Index is the index of a pack.
type Index struct {
	idLen   int
	entries []entry // by id
}

// ReadIndex reads an index of version 2 whose ids have idLen bytes, and checks
// its checksum; ErrMalformed for anything else.
func ReadIndex(path string, idLen int) (*Index, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	bad := func(what string) error { return fmt.Errorf("%w: index of a pack: %s", ErrMalformed, what) }
	const fanout = 8 + 256*4
	if len(data) < fanout+2*idLen || !bytes.HasPrefix(data, []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, bad("not of version 2")
	}
	sum := NewHash(idLen)
	sum.Write(data[:len(data)-idLen])
	if !bytes.Equal(sum.Sum(nil), data[len(data)-idLen:]) {
		return nil, bad("wrong checksum")
	}
	count := int(binary.BigEndian.Uint32(data[fanout-4:]))
	body := data[fanout : len(data)-2*idLen]
	if count < 0 || len(body) < count*(idLen+8) {
		return nil, bad("cut short")
	}
	ids, crcs := body[:count*idLen], body[count*idLen:]
	offsets := crcs[count*4:]
	far := offsets[count*4:]
	x := &Index{idLen: idLen, entries: make([]entry, count)}
	for i := range x.entries {
		at := uint64(binary.BigEndian.Uint32(offsets[i*4:]))
		if at&(1<<31) != 0 {
			n := int(at &^ (1 << 31))
			if n*8+8 > len(far) {
				return nil, bad("an offset that is not there")
			}
			at = binary.BigEndian.Uint64(far[n*8:])
		}
		x.entries[i] = entry{id: string(ids[i*idLen : (i+1)*idLen]), crc: binary.BigEndian.Uint32(crcs[i*4:]), offset: int64(at)}
	}
	return x, nil
}

// Has tells whether the pack has the object id, in hexadecimal digits.
func (x *Index) Has(id string) bool {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return false
	}
	_, there := slices.BinarySearchFunc(x.entries, string(raw), func(e entry, id string) int { return cmp.Compare(e.id, id) })
	return there
}

// IDs lists the objects, sorted, in hexadecimal digits.
func (x *Index) IDs() []string {
	ids := make([]string, len(x.entries))
	for i, e := range x.entries {
		ids[i] = hex.EncodeToString([]byte(e.id))
	}
	return ids
}

// ErrDelta says that a pack has objects that are stored as differences.
var ErrDelta = errors.New("a pack with deltas")

// Take copies every entry of the pack at path (without the ending) as it is
// stored, without unpacking it. ErrDelta, with nothing copied, when an entry
// stands on another one.
func (w *Writer) Take(path string) error {
	x, err := ReadIndex(path+".idx", w.idLen)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path + ".pack")
	if err != nil {
		return err
	}
	end := int64(len(data) - w.idLen)
	order := slices.SortedFunc(slices.Values(x.entries), func(a, b entry) int { return cmp.Compare(a.offset, b.offset) })
	raws := make([][]byte, len(order))
	for i, e := range order {
		to := end
		if i+1 < len(order) {
			to = order[i+1].offset
		}
		if e.offset < headerSize || e.offset >= to || to > end {
			return fmt.Errorf("%w: pack with entries out of place", ErrMalformed)
		}
		raws[i] = data[e.offset:to]
		if kind := Kind(raws[i][0] >> 4 & 7); kind < Commit || kind > Tag {
			return ErrDelta
		}
		if crc32.ChecksumIEEE(raws[i]) != e.crc {
			return fmt.Errorf("%w: pack with a wrong checksum", ErrMalformed)
		}
	}
	for i, e := range order {
		if err := w.append(e, raws[i]); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) append(e entry, raw []byte) error {
	if _, there := w.at[e.id]; there || w.err != nil {
		return w.err
	}
	if _, w.err = w.out.Write(raw); w.err == nil {
		w.note(e.id, e.crc, int64(len(raw)))
	}
	return w.err
}

// TakeLoose stores the loose object in the file at path, whose id is given.
func (w *Writer) TakeLoose(path, id string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	z, err := zlib.NewReader(bufio.NewReader(f))
	if err != nil {
		return fmt.Errorf("%w: loose object %s: %w", ErrMalformed, id, err)
	}
	content := bufio.NewReader(z)
	head, err := content.ReadString(0)
	if err != nil {
		return fmt.Errorf("%w: loose object %s: %w", ErrMalformed, id, err)
	}
	word, number, _ := strings.Cut(strings.TrimSuffix(head, "\x00"), " ")
	size, err := strconv.ParseInt(number, 10, 64)
	if kind := KindOf(word); err == nil && kind != 0 {
		return w.AddFrom(id, kind, size, io.LimitReader(content, size+1))
	}
	return fmt.Errorf("%w: loose object %s begins with %.40q", ErrMalformed, id, head)
}
