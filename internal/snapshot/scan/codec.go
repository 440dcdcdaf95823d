package scan

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/turnback/turnback/internal/files"
	"github.com/turnback/turnback/internal/git"
)

// The table's file: magic, format, id length, then the table, then a checksum.
// Whatever is odd about it makes it count as lost.
const (
	tableMagic  = "turnback table"
	tableFormat = 6
)

func (s *Scanner) tablePath() string { return filepath.Join(s.dir, "table") }

func newTable() *table { return &table{root: &node{}, usual: plain()} }

// load reads the table; a new one where there is none that is sound.
func (s *Scanner) load() *table {
	data, err := os.ReadFile(s.tablePath())
	if err != nil {
		return newTable()
	}
	t, err := decode(data, s.repo.IDLen)
	if err != nil {
		return newTable()
	}
	return t
}

// Persist writes the table to disk when it changed since the last time. It need
// not be called for correctness: a lost table costs time only.
func (s *Scanner) Persist() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.table == nil || !s.unsaved {
		return nil
	}
	data := encode(s.table, s.repo.IDLen)
	if err := files.Replace(s.tablePath(), data); err != nil {
		return fmt.Errorf("write the stat table: %w", err)
	}
	s.unsaved = false
	return nil
}

type encoder struct {
	b     []byte
	idLen int
}

func encode(t *table, idLen int) []byte {
	e := &encoder{idLen: idLen}
	e.b = append(e.b, tableMagic...)
	e.b = append(e.b, tableFormat, byte(idLen))
	e.stat(t.index.stat)
	e.text(t.index.head)
	e.b = append(e.b, t.rules[:]...)
	e.b = append(e.b, t.modes[:]...)
	e.text(t.tree)
	e.text(t.bytes)
	for _, perm := range t.usual {
		e.uint(uint64(perm))
	}
	e.staged(t.staged)
	e.node(t.root)
	return binary.LittleEndian.AppendUint32(e.b, crc32.ChecksumIEEE(e.b))
}

func (e *encoder) uint(v uint64) { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) text(s string) { e.uint(uint64(len(s))); e.b = append(e.b, s...) }
func (e *encoder) oid(o oid)     { e.b = append(e.b, o[:e.idLen]...) }

func (e *encoder) stat(s stat) {
	e.b = binary.AppendVarint(e.b, s.mtime)
	e.b = binary.AppendVarint(e.b, s.ctime)
	e.b = binary.AppendVarint(e.b, s.size)
	e.uint(s.ino)
	e.uint(uint64(s.mode))
}

func (e *encoder) flag(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	e.b = append(e.b, b)
}

func (e *encoder) staged(list []git.IndexEntry) {
	e.uint(uint64(len(list)))
	for _, x := range list {
		e.text(x.Path)
		e.uint(uint64(x.Mode))
		e.text(x.ID)
		e.uint(uint64(x.Stage))
		e.flag(x.SkipWorktree)
		e.flag(x.AssumeSame)
		e.flag(x.IntentToAdd)
	}
}

func (e *encoder) node(n *node) {
	e.oid(n.tree)
	e.oid(n.crlf)
	e.oid(n.filtered)
	e.oid(n.raw)
	e.flag(n.dirty.Load())
	e.flag(n.known)
	e.flag(n.gone)
	e.flag(n.young)
	e.flag(n.youngAttributes)
	e.stat(n.listed)
	e.stat(n.rules)
	e.stat(n.attributes)
	e.stat(n.nested)
	e.uint(uint64(n.tracked))
	e.uint(uint64(len(n.entries)))
	for i := range n.entries {
		e.entry(n, &n.entries[i])
	}
}

func (e *encoder) entry(n *node, x *entry) {
	e.text(x.name)
	e.b = append(e.b, byte(x.kind), x.flags, byte(x.form))
	if x.form == formRaw {
		e.oid(n.raws[x.name])
	}
	e.stat(x.stat)
	e.oid(x.id)
	e.b = binary.AppendVarint(e.b, x.held)
	e.uint(uint64(x.mode))
	e.oid(x.idxID)
	e.uint(uint64(x.idxMode))
	e.flag(x.dir != nil)
	if x.dir != nil {
		e.node(x.dir)
	}
}

var errTable = errors.New("broken table")

// decoder reads from b; after the first error everything it returns is zero.
type decoder struct {
	b     []byte
	idLen int
	bad   bool
}

func decode(data []byte, idLen int) (*table, error) {
	head := len(tableMagic) + 2
	if len(data) < head+4 || !bytes.Equal(data[:head], append([]byte(tableMagic), tableFormat, byte(idLen))) {
		return nil, errTable
	}
	body := data[:len(data)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(data[len(body):]) {
		return nil, errTable
	}
	d := &decoder{b: body[head:], idLen: idLen}
	t := &table{}
	t.index.stat = d.stat()
	t.index.head = d.text()
	copy(t.rules[:], d.take(len(t.rules)))
	copy(t.modes[:], d.take(len(t.modes)))
	t.tree, t.bytes = d.text(), d.text()
	for i := range t.usual {
		t.usual[i] = uint32(d.uint()) & permBits
	}
	t.staged = d.staged()
	t.root = d.node(nil, "")
	if d.bad || len(d.b) != 0 {
		return nil, errTable
	}
	return t, nil
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if d.take(max(n, 0)); n <= 0 {
		d.bad = true
		return 0
	}
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	if d.take(max(n, 0)); n <= 0 {
		d.bad = true
		return 0
	}
	return v
}

func (d *decoder) byte() byte {
	if b := d.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (d *decoder) flag() bool   { return d.byte() == 1 }
func (d *decoder) text() string { return string(d.take(int(min(d.uint(), 1<<20)))) }

func (d *decoder) oid() oid {
	var o oid
	copy(o[:], d.take(d.idLen))
	return o
}

func (d *decoder) stat() stat {
	return stat{mtime: d.int(), ctime: d.int(), size: d.int(), ino: d.uint(), mode: uint32(d.uint())}
}

func (d *decoder) staged() []git.IndexEntry {
	var list []git.IndexEntry
	for range d.uint() {
		if d.bad {
			return nil
		}
		x := git.IndexEntry{Entry: git.Entry{Path: d.text(), Mode: uint32(d.uint()), ID: d.text()}, Stage: int(d.uint())}
		x.SkipWorktree, x.AssumeSame, x.IntentToAdd = d.flag(), d.flag(), d.flag()
		list = append(list, x)
	}
	return list
}

func (d *decoder) node(parent *node, name string) *node {
	n := &node{parent: parent, name: name, tree: d.oid(), crlf: d.oid(), filtered: d.oid(), raw: d.oid()}
	n.bad = parent != nil && parent.refuses(name)
	n.dirty.Store(d.flag())
	n.known, n.gone, n.young, n.youngAttributes = d.flag(), d.flag(), d.flag(), d.flag()
	n.listed, n.rules, n.attributes, n.nested = d.stat(), d.stat(), d.stat(), d.stat()
	n.tracked = int(d.uint())
	count := d.uint()
	if count > uint64(len(d.b)) {
		d.bad = true
		return n
	}
	n.entries = make([]entry, 0, min(count, 64)) // the count may lie
	for range count {
		if d.bad {
			return n
		}
		n.entries = append(n.entries, d.entry(n))
	}
	return n
}

func (d *decoder) entry(n *node) entry {
	e := entry{name: d.text()}
	e.kind, e.flags = kind(d.byte()), d.byte()
	if e.form = form(d.byte()); e.form == formRaw {
		if n.raws == nil {
			n.raws = map[string]oid{}
		}
		n.raws[e.name] = d.oid()
	}
	e.stat = d.stat()
	e.id, e.held, e.mode = d.oid(), d.int(), uint32(d.uint())
	e.idxID, e.idxMode = d.oid(), uint32(d.uint())
	if d.flag() {
		e.dir = d.node(n, e.name)
	}
	return e
}
