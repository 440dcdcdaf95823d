package record

import "strings"

// JoinDisk makes the digest of a Checkpoint's Disk of that of modes and folders
// and of a tree as snapshot.Result.Bytes.
func JoinDisk(digest, bytes string) string {
	if bytes == "" {
		return digest
	}
	return digest + "+" + bytes
}

// BytesOf gives the tree that says which files had other bytes than their blobs;
// empty: none had. Of an empty digest nothing is known.
func BytesOf(disk string) (bytes string, known bool) {
	_, bytes, _ = strings.Cut(disk, "+")
	return bytes, disk != ""
}

// SameFiles tells whether two trees, each with a digest as that of a Checkpoint,
// are of files with the same bytes, as far as is known.
func SameFiles(treeA, diskA, treeB, diskB string) bool {
	a, knownA := BytesOf(diskA)
	b, knownB := BytesOf(diskB)
	return treeA == treeB && (a == b || !knownA || !knownB)
}

// ofRestore is the digest of what a restore left, as far as it is known.
const ofRestore = "restored"

// State is a tree with the bytes on disk, as an Undone has it: the tree's id, with
// "+" and the id of BytesOf where there is one.
type State struct {
	Tree string
	Disk string // as that of a Checkpoint
}

// StateOf is the State with that tree, whose files have those bytes.
func StateOf(tree, bytes string) State { return State{tree, JoinDisk(ofRestore, bytes)} }

// ParseState reads a State.
func ParseState(text string) State {
	tree, bytes, _ := strings.Cut(text, "+")
	return StateOf(tree, bytes)
}

// String is read by ParseState.
func (s State) String() string {
	bytes, _ := BytesOf(s.Disk)
	return JoinDisk(s.Tree, bytes)
}

// Same tells whether s and t are of files with the same bytes, as far as is known.
func (s State) Same(t State) bool { return SameFiles(s.Tree, s.Disk, t.Tree, t.Disk) }
