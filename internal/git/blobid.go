package git

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// BlobID is the id that content of that size has as it is, without any
// conversion, in a repository whose ids are idLen bytes. It is empty when
// content has another size: it changes right now.
func BlobID(idLen int, content io.Reader, size int64) (string, error) {
	sum := hashFor(strings.Repeat("0", 2*idLen))
	fmt.Fprintf(sum, "blob %d\x00", size)
	n, err := io.Copy(sum, content)
	if err != nil || n != size {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
