package proxy

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// errTooLarge says that a body has more bytes than are looked at.
var errTooLarge = errors.New("it is too large to look at")

// coding is how a body is compressed.
type coding string

// The codings. Others, and several at once, are not looked into.
const (
	identity coding = ""
	gzipped  coding = "gzip"
	brotlied coding = "br"
	zstded   coding = "zstd"
)

func codingOf(header []string) (coding, error) {
	switch c := strings.ToLower(strings.TrimSpace(strings.Join(header, ","))); c {
	case "", "identity":
		return identity, nil
	case "gzip", "x-gzip":
		return gzipped, nil
	case "br", "zstd":
		return coding(c), nil
	default:
		return identity, fmt.Errorf("its coding %q is not known", c)
	}
}

// reader decodes while it is read. Its memory is bounded by the codings' own
// windows, 128 MiB at most.
func (c coding) reader(r io.Reader) (io.ReadCloser, error) {
	switch c {
	case gzipped:
		return gzip.NewReader(r)
	case brotlied:
		return io.NopCloser(brotli.NewReader(r)), nil
	case zstded:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	default:
		return io.NopCloser(r), nil
	}
}

// decode gives the bytes of a body, at most limit of them. Of an identity body
// it is the same slice.
func (c coding) decode(body []byte, limit int64) ([]byte, error) {
	if c == identity {
		return body, nil
	}
	r, err := c.reader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", c, err)
	}
	defer r.Close() // it reads from memory
	var plain bytes.Buffer
	plain.Grow(len(body) * 4)
	n, err := io.Copy(&plain, io.LimitReader(r, limit+1))
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", c, err)
	}
	if n > limit {
		return nil, errTooLarge
	}
	return plain.Bytes(), nil
}

// encode compresses a body, quickly rather than well.
func (c coding) encode(body []byte) ([]byte, error) {
	if c == identity {
		return body, nil
	}
	var packed bytes.Buffer
	w, err := c.writer(&packed)
	if err == nil {
		_, err = w.Write(body)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", c, err)
	}
	return packed.Bytes(), nil
}

func (c coding) writer(w io.Writer) (io.WriteCloser, error) {
	switch c {
	case brotlied:
		return brotli.NewWriterLevel(w, brotli.BestSpeed), nil
	case zstded:
		return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	default:
		return gzip.NewWriterLevel(w, gzip.BestSpeed)
	}
}
