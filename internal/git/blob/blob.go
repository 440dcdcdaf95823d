// Package blob gives the ids that content has as a blob, as it is or with other
// line ends, without git.
package blob

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/turnback/turnback/internal/git/pack"
)

// ID is the id that content of that size has as it is, without any
// conversion, in a repository whose ids are idLen bytes. It is empty when
// content has another size: it changes right now.
func ID(idLen int, content io.Reader, size int64) (string, error) {
	sum := pack.NewHash(idLen)
	fmt.Fprintf(sum, "blob %d\x00", size)
	n, err := io.Copy(sum, content)
	if err != nil || n != size {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// LFID is the id of content with each "\r\n" made "\n". It is empty when
// that cannot be undone by making each "\n" a "\r\n" again: when the content has
// a "\n" or a "\r" by itself, or changes while it is read.
func LFID(idLen int, content io.ReadSeeker) (string, error) {
	var size int64
	err := eachLF(content, func(p []byte) { size += int64(len(p)) })
	if errors.Is(err, errNotCRLF) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	h := pack.NewHash(idLen)
	fmt.Fprintf(h, "blob %d\x00", size)
	err = eachLF(content, func(p []byte) { h.Write(p); size -= int64(len(p)) })
	if err != nil || size != 0 {
		if errors.Is(err, errNotCRLF) {
			err = nil
		}
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

var errNotCRLF = errors.New("not every line ends in CRLF")

// eachLF calls each with the pieces of content with "\r\n" made "\n".
func eachLF(content io.Reader, each func([]byte)) error {
	r := bufio.NewReaderSize(content, 64<<10)
	held := false // a "\r" was the last byte of the piece before
	for {
		piece, err := r.Peek(max(1, r.Buffered()))
		if len(piece) == 0 {
			if held {
				return errNotCRLF
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		out := make([]byte, 0, len(piece))
		for _, b := range piece {
			if held != (b == '\n') {
				return errNotCRLF
			}
			if held = b == '\r'; !held {
				out = append(out, b)
			}
		}
		each(out)
		_, _ = r.Discard(len(piece))
	}
}

// CRLFWriter writes to W with each "\n" made "\r\n".
type CRLFWriter struct{ W io.Writer }

// Write implements io.Writer.
func (c CRLFWriter) Write(p []byte) (int, error) {
	out := make([]byte, 0, len(p)+len(p)/16)
	for _, b := range p {
		if b == '\n' {
			out = append(out, '\r')
		}
		out = append(out, b)
	}
	if _, err := c.W.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Hash computes the id of content that is written to it.
type Hash struct{ sum hash.Hash }

// NewHash makes a Hash for content of that size; see ID.
func NewHash(idLen int, size int64) *Hash {
	h := &Hash{pack.NewHash(idLen)}
	fmt.Fprintf(h.sum, "blob %d\x00", size)
	return h
}

// Write takes more of the content.
func (h *Hash) Write(p []byte) (int, error) { return h.sum.Write(p) }

// ID is the id of the content so far; of another size than was said, it is none.
func (h *Hash) ID() string { return hex.EncodeToString(h.sum.Sum(nil)) }
