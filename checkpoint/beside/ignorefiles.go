package beside

import (
	"bytes"
	"path"
	"strconv"
	"strings"

	"github.com/turnback/turnback/internal/git/rules"
)

// The ignore files that no tree holds: length in decimal, a tab, the path, a NUL,
// then so many bytes.
func encodeIgnoreFiles(files []rules.File) []byte {
	var b []byte
	for _, f := range files {
		b = strconv.AppendInt(b, int64(len(f.Content)), 10)
		b = append(append(append(b, '\t'), f.Path...), 0)
		b = append(b, f.Content...)
	}
	return b
}

func decodeIgnoreFiles(data []byte) ([]rules.File, error) {
	var files []rules.File
	for len(data) > 0 {
		head, rest, _ := bytes.Cut(data, []byte{0})
		length, name, ok := strings.Cut(string(head), "\t")
		n, err := strconv.Atoi(length)
		if !ok || err != nil || n < 0 || n > len(rest) || path.Base(name) != rules.FileName {
			return nil, malformed("its ignore files hold %.60q", head)
		}
		if err := checkPath(name); err != nil {
			return nil, err
		}
		files = append(files, rules.File{Path: name, Content: rest[:n:n]})
		data = rest[n:]
	}
	return files, nil
}
