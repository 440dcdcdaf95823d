package locate

import (
	"fmt"
	"strings"
)

// Version is a git version.
type Version struct {
	Major, Minor, Patch int
	Text                string // as git prints it
}

// Oldest is the oldest version that is supported: the first whose commands see
// files on disk through the skip-worktree flag.
func Oldest() Version { return Version{Major: 2, Minor: 36, Text: "2.36.0"} }

// Less tells whether v is older than w.
func (v Version) Less(w Version) bool {
	if v.Major != w.Major {
		return v.Major < w.Major
	}
	if v.Minor != w.Minor {
		return v.Minor < w.Minor
	}
	return v.Patch < w.Patch
}

// ParseVersion reads "git version 2.39.5 (Apple Git-154)".
func ParseVersion(s string) (Version, error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(s), "git version ")
	if !ok {
		return Version{}, fmt.Errorf("not a version of git: %.80q", s)
	}
	v := Version{Text: rest}
	n, _ := fmt.Sscanf(rest, "%d.%d.%d", &v.Major, &v.Minor, &v.Patch)
	if n < 2 {
		return Version{}, fmt.Errorf("not a version of git: %.80q", s)
	}
	return v, nil
}
