package beside

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/turnback/turnback/internal/git"
)

// Made is a file, link or folder that the restore made, where nothing was, or took
// away, whose safety checkpoint this is beside. Going back to that one takes away
// again what was made, and writes again what was taken, also where git ignores it or
// was told to do without it: the trees do not tell then.
type Made struct {
	Path string
	Mode uint32 // as git has it
	ID   string // its blob; empty: it is a folder
	Raw  string // the blob of its bytes on disk; empty: ID's
	CRLF bool   // its bytes on disk are ID's with each "\n" made "\r\n"
}

// The list of what a restore made, or took away: mode, blob, blob of the bytes (- for none), form
// (crlf or -), parted by spaces, a tab, the path's raw bytes, a NUL.
func encodeMade(list []Made) []byte {
	var b []byte
	for _, m := range list {
		id, raw, form := cmp.Or(m.ID, "-"), cmp.Or(m.Raw, "-"), "-"
		if m.CRLF {
			form = "crlf"
		}
		b = append(b, fmt.Sprintf("%o %s %s %s\t%s\x00", m.Mode, id, raw, form, m.Path)...)
	}
	return b
}

func decodeMade(data []byte) ([]Made, error) {
	var list []Made
	err := records(data, func(rec string) error {
		meta, path, ok := strings.Cut(rec, "\t")
		var m Made
		var form string
		if n, err := fmt.Sscanf(meta, "%o %s %s %s", &m.Mode, &m.ID, &m.Raw, &form); !ok || path == "" || err != nil || n != 4 || !isIDOrNone(m.ID) || !isIDOrNone(m.Raw) {
			return malformed("its list of files that were made holds %.60q", rec)
		}
		m.ID, m.Raw = strings.Trim(m.ID, "-"), strings.Trim(m.Raw, "-")
		m.CRLF, m.Path = form == "crlf", path
		list = append(list, m)
		return nil
	})
	return list, err
}

func isIDOrNone(s string) bool { return s == "-" || git.IsID(s) }
