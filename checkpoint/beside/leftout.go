package beside

import (
	"strings"

	"github.com/turnback/turnback/internal/snapshot"
)

// The list of left-out paths: reason, a tab, the path's raw bytes, a NUL.
func encodeLeftOut(list []snapshot.LeftOut) []byte {
	var b []byte
	for _, l := range list {
		b = append(b, l.Reason+"\t"+l.Path+"\x00"...)
	}
	return b
}

func decodeLeftOut(data []byte) ([]snapshot.LeftOut, error) {
	var list []snapshot.LeftOut
	err := records(data, func(rec string) error {
		reason, path, ok := strings.Cut(rec, "\t")
		if !ok || path == "" {
			return malformed("its list of left-out paths holds %.60q", rec)
		}
		list = append(list, snapshot.LeftOut{Path: path, Reason: reason})
		return nil
	})
	return list, err
}
