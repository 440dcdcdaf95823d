// Package pack writes git's pack files and their indexes, and reads what is
// needed to do so: indexes, loose objects, and whole entries of other packs.
// It starts no process and knows no repository.
package pack

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
)

// Kind is the type of an object, as a pack has it.
type Kind byte

// The kinds of objects.
const (
	Commit Kind = 1
	Tree   Kind = 2
	Blob   Kind = 3
	Tag    Kind = 4
)

// String is git's word for k.
func (k Kind) String() string {
	switch k {
	case Commit:
		return "commit"
	case Tree:
		return "tree"
	case Blob:
		return "blob"
	case Tag:
		return "tag"
	}
	return fmt.Sprintf("kind %d", byte(k))
}

// KindOf reads git's word; 0: it is none.
func KindOf(word string) Kind {
	for k := Commit; k <= Tag; k++ {
		if k.String() == word {
			return k
		}
	}
	return 0
}

// ErrMalformed says that a file is no pack, index or loose object, or that its
// content is not what its id says.
var ErrMalformed = errors.New("malformed")

// headerSize is "PACK", the version, and the count of objects.
const headerSize = 12

// Writer writes one pack. It is not for use by two goroutines at once.
type Writer struct {
	path    string // without the ending
	idLen   int
	file    *os.File
	out     *bufio.Writer
	zip     *zlib.Writer
	offset  int64
	entries []entry
	at      map[string]struct{} // by raw id
	err     error               // the first failure: nothing more can be written
}

type entry struct {
	id     string // raw bytes
	crc    uint32
	offset int64
}

// Create begins a pack at path + ".pack"; ids have idLen bytes, 20 or 32.
func Create(path string, idLen int) (*Writer, error) {
	f, err := os.OpenFile(path+".pack", os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	w := &Writer{path: path, idLen: idLen, file: f, out: bufio.NewWriterSize(f, 64<<10), at: map[string]struct{}{}, offset: headerSize}
	if _, err := w.out.Write(header(0)); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

func header(count uint32) []byte {
	h := append([]byte("PACK"), 0, 0, 0, 2)
	return binary.BigEndian.AppendUint32(h, count)
}

// Len is how many objects the pack has so far.
func (w *Writer) Len() int { return len(w.entries) }

// Size is how many bytes the pack has so far.
func (w *Writer) Size() int64 { return w.offset }

// Has tells whether the pack has the object id, in hexadecimal digits.
func (w *Writer) Has(id string) bool {
	raw, err := hex.DecodeString(id)
	if err != nil {
		return false
	}
	_, there := w.at[string(raw)]
	return there
}

// NewHash gives the hash of a repository whose ids have idLen bytes.
func NewHash(idLen int) hash.Hash {
	if idLen == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// IDOf is the id of the object with that content.
func IDOf(kind Kind, data []byte, idLen int) string {
	sum := NewHash(idLen)
	fmt.Fprintf(sum, "%s %d\x00", kind, len(data))
	sum.Write(data)
	return hex.EncodeToString(sum.Sum(nil))
}

// Add stores data and returns its id. What the pack has already is not stored twice.
func (w *Writer) Add(kind Kind, data []byte) (string, error) {
	sum := NewHash(w.idLen)
	fmt.Fprintf(sum, "%s %d\x00", kind, len(data))
	sum.Write(data)
	raw := string(sum.Sum(nil))
	if _, there := w.at[raw]; !there {
		if err := w.write(raw, kind, int64(len(data)), bytes.NewReader(data)); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString([]byte(raw)), nil
}

// AddFrom stores the size bytes of content as the object id; ErrMalformed when
// they are not what id says. content is read to its end, also when the pack has
// the object already.
func (w *Writer) AddFrom(id string, kind Kind, size int64, content io.Reader) error {
	raw, err := hex.DecodeString(id)
	if err != nil || len(raw) != w.idLen {
		return fmt.Errorf("%w: object id %.80q", ErrMalformed, id)
	}
	sum := NewHash(w.idLen)
	fmt.Fprintf(sum, "%s %d\x00", kind, size)
	content = io.TeeReader(content, sum)
	if _, there := w.at[string(raw)]; there {
		_, err = io.Copy(io.Discard, content)
		return err
	}
	if err := w.write(string(raw), kind, size, content); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), raw) {
		w.err = fmt.Errorf("%w: object %s has another content", ErrMalformed, id)
	}
	return w.err
}

// write appends one entry. After an error the pack is of no use.
func (w *Writer) write(raw string, kind Kind, size int64, content io.Reader) error {
	if w.err != nil {
		return w.err
	}
	e := &entryWriter{out: w.out, crc: crc32.NewIEEE()}
	_, w.err = e.Write(entryHeader(kind, size))
	if w.zip == nil {
		w.zip, _ = zlib.NewWriterLevel(e, zlib.BestSpeed)
	} else {
		w.zip.Reset(e)
	}
	var n int64
	if w.err == nil {
		n, w.err = io.Copy(w.zip, content)
	}
	w.err = errors.Join(w.err, w.zip.Close())
	if w.err == nil && n != size {
		w.err = fmt.Errorf("%w: %d bytes instead of %d", ErrMalformed, n, size)
	}
	if w.err == nil {
		w.note(raw, e.crc.Sum32(), e.n)
	}
	return w.err
}

func (w *Writer) note(raw string, crc uint32, length int64) {
	w.entries = append(w.entries, entry{id: raw, crc: crc, offset: w.offset})
	w.at[raw] = struct{}{}
	w.offset += length
}

type entryWriter struct {
	out io.Writer
	crc hash.Hash32
	n   int64
}

func (e *entryWriter) Write(p []byte) (int, error) {
	n, err := e.out.Write(p)
	e.crc.Write(p[:n])
	e.n += int64(n)
	return n, err
}

// entryHeader is kind and size: four bits and the kind first, then seven a byte.
func entryHeader(kind Kind, size int64) []byte {
	b := byte(kind)<<4 | byte(size&15)
	size >>= 4
	var out []byte
	for size > 0 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
		size >>= 7
	}
	return append(out, b)
}

// Finish ends the pack, writes its index, and returns the name that git gives
// such a pack (without "pack-"). The files are path + ".pack" and path + ".idx".
func (w *Writer) Finish() (string, error) {
	if w.err != nil {
		return "", errors.Join(w.err, w.Abort())
	}
	sum, err := w.seal()
	if err == nil {
		err = w.writeIndex(sum)
	}
	if err != nil {
		return "", errors.Join(err, w.Abort())
	}
	return hex.EncodeToString(sum), w.file.Close()
}

// seal puts the count into the header and the checksum at the end.
func (w *Writer) seal() ([]byte, error) {
	if len(w.entries) > math.MaxUint32 {
		return nil, errors.New("too many objects for a pack")
	}
	if err := w.out.Flush(); err != nil {
		return nil, err
	}
	if _, err := w.file.WriteAt(header(uint32(len(w.entries))), 0); err != nil {
		return nil, err
	}
	sum := NewHash(w.idLen)
	if _, err := io.Copy(sum, io.NewSectionReader(w.file, 0, w.offset)); err != nil {
		return nil, err
	}
	checksum := sum.Sum(nil)
	_, err := w.file.WriteAt(checksum, w.offset)
	return checksum, err
}

// Abort gives the pack up and removes its files.
func (w *Writer) Abort() error {
	err := errors.Join(w.file.Close(), os.Remove(w.path+".pack"))
	if rmErr := os.Remove(w.path + ".idx"); !errors.Is(rmErr, os.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	return err
}

func (w *Writer) writeIndex(packSum []byte) error {
	slices.SortFunc(w.entries, func(a, b entry) int { return cmp.Compare(a.id, b.id) })
	var b bytes.Buffer
	b.WriteString("\xfftOc\x00\x00\x00\x02")
	count := uint32(0)
	for first := range 256 {
		for int(count) < len(w.entries) && int(w.entries[count].id[0]) <= first {
			count++
		}
		b.Write(binary.BigEndian.AppendUint32(nil, count))
	}
	for _, e := range w.entries {
		b.WriteString(e.id)
	}
	for _, e := range w.entries {
		b.Write(binary.BigEndian.AppendUint32(nil, e.crc))
	}
	var far []byte
	for _, e := range w.entries {
		offset := uint32(e.offset)
		if e.offset > math.MaxInt32 {
			offset = 1<<31 | uint32(len(far)/8)
			far = binary.BigEndian.AppendUint64(far, uint64(e.offset))
		}
		b.Write(binary.BigEndian.AppendUint32(nil, offset))
	}
	b.Write(far)
	b.Write(packSum)
	sum := NewHash(w.idLen)
	sum.Write(b.Bytes())
	b.Write(sum.Sum(nil))
	f, err := os.OpenFile(w.path+".idx", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}
