package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	idDigits  = 8 // digits of a window id where no other window has the same
	minPrefix = 4 // shortest prefix of an id that names a window
)

// Kinds of key that are not a terminal's.
const (
	kindSession = "session" // the agent's session, where there is no terminal
	kindName    = "name"    // a session's and a window's name, given by the caller
	kindDir     = "dir"     // nothing but the work tree
)

// SessionKey is the key of a window whose agent has no terminal.
func SessionKey(agent, sessionID string) string {
	return kindSession + ":" + agent + ":" + sessionID
}

// NameKey is the key of a window that its caller named.
func NameKey(session, name string) string {
	return kindName + ":" + session + "\x00" + name
}

// DirKey is the key of a window of which nothing but the work tree is known.
func DirKey() string { return kindDir + ":" }

// MakeID makes the id of the window with this key in this work tree: the same
// in every process and after every loss of state. taken says which ids belong
// to other windows; the id is longer then.
func MakeID(key, worktree string, taken func(id string) bool) string {
	kind, rest, _ := strings.Cut(key, ":")
	sum := sha256.Sum256([]byte(kind + "\x00" + rest + "\x00" + worktree))
	digits := hex.EncodeToString(sum[:])
	n := idDigits
	for n < len(digits) && taken(digits[:n]) {
		n++
	}
	return digits[:n]
}

func keyKind(key string) string {
	kind, _, _ := strings.Cut(key, ":")
	return kind
}
