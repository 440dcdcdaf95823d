package beside

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// Disk is what of a work tree no tree of git can hold. What is nil is not known.
type Disk struct {
	Modes   *snapshot.Modes
	Folders []string // below which nothing is in the tree; not nil: these are all
	Without []string // files of the tree that were not on disk, because git was told to do without them; not nil: these are all
	Rules   *snapshot.Rules
	Index   *snapshot.Index
}

// What a save looks for; a checkpoint names them. Of one that is named and has no
// entry beside, there was nothing to keep.
const (
	LookedModes   = "modes"
	LookedFolders = "folders"
	LookedWithout = "without"
	LookedRules   = "rules"
	LookedIndex   = "index"
)

// Looked names what is known of d.
func (d *Disk) Looked() []string {
	var names []string
	if d.Modes != nil {
		names = append(names, LookedModes)
	}
	if d.Folders != nil {
		names = append(names, LookedFolders)
	}
	if d.Rules != nil {
		names = append(names, LookedRules)
	}
	if d.Index != nil {
		names = append(names, LookedIndex)
	}
	if d.Without != nil {
		names = append(names, LookedWithout)
	}
	return names
}

// Found fills in what was looked for and had nothing to be kept.
func (d *Disk) Found(looked []string) {
	for _, name := range looked {
		switch {
		case name == LookedModes && d.Modes == nil:
			plain := snapshot.PlainModes()
			d.Modes = &plain
		case name == LookedFolders && d.Folders == nil:
			d.Folders = []string{}
		case name == LookedWithout && d.Without == nil:
			d.Without = []string{}
		case name == LookedRules && d.Rules == nil:
			d.Rules = &snapshot.Rules{}
		case name == LookedIndex && d.Index == nil:
			d.Index = &snapshot.Index{}
		}
	}
}

// PlainDigest is that of files and folders with the usual bits, and no folder
// without files.
const PlainDigest = "plain"

// Digest tells two states of the files apart that have the same tree: by the modes,
// the folders and the files that were not there of d.
func (d *Disk) Digest() string {
	parts := (&Content{Disk: Disk{Modes: d.Modes, Folders: d.Folders, Without: d.Without}}).Parts()
	if len(parts) == 0 {
		return PlainDigest
	}
	sum := Sum(parts)
	return hex.EncodeToString(sum[:8])
}

// Sum is a digest of parts.
func Sum(parts []Part) (sum [sha256.Size]byte) {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%s %s %q %d\n%s", p.Name, p.Tree, p.Blobs, len(p.Data), p.Data)
	}
	h.Sum(sum[:0])
	return sum
}

// NameIndexBlobs is the entry that holds the staged files.
const NameIndexBlobs = "index-blobs"

// NameIgnoreFiles is the entry that has the ignore files that no tree holds.
const NameIgnoreFiles = "rules-files"

// The names of the entries.
const (
	nameModes       = "modes"
	nameFolders     = "folders"
	nameWithout     = "without"
	nameExclude     = "rules-exclude"
	nameExcludes    = "rules-excludes-file"
	nameIgnoreCase  = "rules-ignore-case"
	nameIndex       = "index"
	flagIntent      = "intent-to-add"
	flagSkip        = "skip-worktree"
	flagAssume      = "assume-unchanged"
	recordFile      = "file"
	recordExec      = "exec"
	recordFolder    = "folder"
	ignoreCaseValue = "true\x00"
)

func (d *Disk) parts() []Part {
	parts := []Part{{Name: nameFolders, Data: []byte(encodeList(d.Folders))}, {Name: nameModes, Data: encodeModes(d.Modes)}, {Name: nameWithout, Data: []byte(encodeList(d.Without))}}
	if i := d.Index; i != nil {
		parts = append(parts, Part{Name: nameIndex, Data: encodeIndex(i)}, Part{Name: NameIndexBlobs, Blobs: i.Blobs})
	}
	if r := d.Rules; r != nil {
		parts = append(parts, Part{Name: nameExclude, Data: r.Exclude}, Part{Name: nameExcludes, Data: r.Global}, Part{Name: NameIgnoreFiles, Data: encodeIgnoreFiles(r.Files)})
		if r.IgnoreCase {
			parts = append(parts, Part{Name: nameIgnoreCase, Data: []byte(ignoreCaseValue)})
		}
	}
	return parts
}

// decode reads one entry; those that are not of d are passed over.
func (d *Disk) decode(e git.Entry, read func(id string) ([]byte, error)) error {
	rules := func(set func(r *snapshot.Rules, data []byte) error) error {
		if d.Rules == nil {
			d.Rules = &snapshot.Rules{}
		}
		return decodeBlob(e, read, func(data []byte) error { return set(d.Rules, data) })
	}
	switch e.Path {
	case nameModes:
		return decodeBlob(e, read, func(data []byte) (err error) { d.Modes, err = decodeModes(data); return err })
	case nameFolders:
		return decodeBlob(e, read, func(data []byte) (err error) { d.Folders, err = decodeList(data); return err })
	case nameWithout:
		return decodeBlob(e, read, func(data []byte) (err error) { d.Without, err = decodeList(data); return err })
	case nameIndex:
		return decodeBlob(e, read, func(data []byte) (err error) { d.Index, err = decodeIndex(data); return err })
	case nameExclude:
		return rules(func(r *snapshot.Rules, data []byte) error { r.Exclude = data; return nil })
	case nameExcludes:
		return rules(func(r *snapshot.Rules, data []byte) error { r.Global = data; return nil })
	case nameIgnoreCase:
		return rules(func(r *snapshot.Rules, data []byte) error { r.IgnoreCase = string(data) == ignoreCaseValue; return nil })
	case NameIgnoreFiles:
		return rules(func(r *snapshot.Rules, data []byte) (err error) { r.Files, err = decodeIgnoreFiles(data); return err })
	}
	return nil
}

func encodeList(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\x00") + "\x00"
}

func decodeList(data []byte) ([]string, error) {
	list := []string{}
	err := records(data, func(rec string) error {
		list = append(list, rec)
		return checkPath(rec)
	})
	return list, err
}

func checkPath(path string) error {
	if err := git.CheckPath(path); err != nil {
		return malformed("%v", err)
	}
	return nil
}

// The permission bits: three records for what is usual, as "file 644", then one
// for each path with others, as "600", a tab, and the path.
func encodeModes(m *snapshot.Modes) []byte {
	if m == nil || m.Plain() {
		return nil
	}
	var b []byte
	usual := func(name string, perm uint32) {
		b = append(b, name+" "...)
		b = append(strconv.AppendUint(b, uint64(perm), 8), 0)
	}
	usual(recordFile, m.File)
	usual(recordExec, m.Exec)
	usual(recordFolder, m.Folder)
	for _, o := range m.Odd {
		b = strconv.AppendUint(b, uint64(o.Perm), 8)
		b = append(append(append(b, '\t'), o.Path...), 0)
	}
	return b
}

func decodeModes(data []byte) (*snapshot.Modes, error) {
	m := &snapshot.Modes{}
	usual := []struct {
		name string
		perm *uint32
	}{{recordFile, &m.File}, {recordExec, &m.Exec}, {recordFolder, &m.Folder}}
	err := records(data, func(rec string) (err error) {
		if len(usual) > 0 {
			bits, ok := strings.CutPrefix(rec, usual[0].name+" ")
			if !ok {
				return malformed("its modes have %.60q for %s", rec, usual[0].name)
			}
			*usual[0].perm, err = parsePerm(bits)
			usual = usual[1:]
			return err
		}
		bits, path, ok := strings.Cut(rec, "\t")
		if !ok {
			return malformed("its modes hold %.60q", rec)
		}
		perm, err := parsePerm(bits)
		if err != nil {
			return err
		}
		m.Odd = append(m.Odd, snapshot.Mode{Path: path, Perm: perm})
		return checkPath(path)
	})
	if err == nil && len(usual) > 0 {
		err = malformed("its modes end early")
	}
	m.Sort()
	return m, err
}

func parsePerm(bits string) (uint32, error) {
	perm, err := strconv.ParseUint(bits, 8, 32)
	if err != nil || perm > 0o777 {
		return 0, malformed("%.20q are no permission bits", bits)
	}
	return uint32(perm), nil
}

// The entries of the index: mode, id, stage, flags parted by commas or "-", a
// tab, the path.
func encodeIndex(i *snapshot.Index) []byte {
	var b []byte
	for _, e := range i.Entries {
		id := e.ID
		if id == "" {
			id = "-"
		}
		b = strconv.AppendUint(b, uint64(e.Mode), 8)
		b = append(b, " "+id+" "+strconv.Itoa(e.Stage)+" "+flagsOf(e)+"\t"+e.Path+"\x00"...)
	}
	return b
}

func flagsOf(e git.IndexEntry) string {
	var flags []string
	for _, f := range []struct {
		set  bool
		name string
	}{{e.IntentToAdd, flagIntent}, {e.SkipWorktree, flagSkip}, {e.AssumeSame, flagAssume}} {
		if f.set {
			flags = append(flags, f.name)
		}
	}
	if len(flags) == 0 {
		return "-"
	}
	return strings.Join(flags, ",")
}

func decodeIndex(data []byte) (*snapshot.Index, error) {
	i := &snapshot.Index{}
	err := records(data, func(rec string) error {
		head, path, ok := strings.Cut(rec, "\t")
		f := strings.Split(head, " ")
		if !ok || len(f) != 4 {
			return malformed("its index entries hold %.60q", rec)
		}
		mode, modeErr := strconv.ParseUint(f[0], 8, 32)
		stage, stageErr := strconv.Atoi(f[2])
		if modeErr != nil || stageErr != nil || stage < 0 || stage > 3 || !isMode(mode) || (f[1] == "-") != (mode == 0) {
			return malformed("its index entries hold %.60q", rec)
		}
		e := git.IndexEntry{Entry: git.Entry{Path: path, Mode: uint32(mode)}, Stage: stage}
		if mode != 0 {
			if e.ID = f[1]; strings.Trim(e.ID, "0123456789abcdef") != "" {
				return malformed("its index entries name object %.60q", e.ID)
			}
		}
		for flag := range strings.SplitSeq(f[3], ",") {
			e.IntentToAdd = e.IntentToAdd || flag == flagIntent
			e.SkipWorktree = e.SkipWorktree || flag == flagSkip
			e.AssumeSame = e.AssumeSame || flag == flagAssume
		}
		i.Entries = append(i.Entries, e)
		return checkPath(path)
	})
	return i, err
}

func isMode(mode uint64) bool {
	switch mode {
	case 0, git.ModeFile, git.ModeExec, git.ModeLink, git.ModeGitlink:
		return true
	}
	return false
}
