// Package lfs keeps the content of Git LFS pointers that checkpoints hold. Git
// stores a pointer of a few lines; the content lies in files of its own, which
// `git lfs prune` removes without asking whether a checkpoint needs them. So each
// is given a second name in a folder of ours, which costs no room.
package lfs

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"strings"
)

// Pointer is what git stores in place of content.
type Pointer struct {
	OID  string // SHA-256 of the content, in hexadecimal
	Size int64  // bytes of the content
}

// MaxPointer is how many bytes a pointer has at most.
const MaxPointer = 1024

// ParsePointer reads a pointer. One that names extensions is none here: its
// content goes through further programs.
func ParsePointer(blob []byte) (Pointer, bool) {
	var p Pointer
	if len(blob) == 0 || len(blob) > MaxPointer || !bytes.HasPrefix(blob, []byte("version ")) {
		return p, false
	}
	seen := map[string]string{}
	for line := range strings.Lines(string(blob)) {
		key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), " ")
		if _, twice := seen[key]; !ok || twice {
			return p, false
		}
		seen[key] = value
	}
	if len(seen) != 3 || seen["version"] != "https://git-lfs.github.com/spec/v1" && seen["version"] != "https://hawser.github.com/spec/v1" {
		return p, false
	}
	oid, ok := strings.CutPrefix(seen["oid"], "sha256:")
	if !ok || !isOID(oid) {
		return p, false
	}
	size, err := strconv.ParseInt(seen["size"], 10, 64)
	if err != nil || size < 0 {
		return p, false
	}
	return Pointer{oid, size}, true
}

func isOID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32 && s == strings.ToLower(s)
}
