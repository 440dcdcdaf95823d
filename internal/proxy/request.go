package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/turnback/turnback/conversation"
	"github.com/turnback/turnback/conversation/collapse"
)

// collapseRequest reads the body of a request that carries history, and leaves
// in r what goes upstream: the body that came, byte for byte, or a shorter one
// in the same coding. The error is the client's, which went away.
func (s *Server) collapseRequest(r *http.Request, x *exchange) error {
	x.seen = s.newObserver(r, x.route)
	body, whole, err := readUpTo(r, s.o.MaxBody)
	if err != nil {
		return err
	}
	if !whole {
		x.seen.doubt(errTooLarge)
		return nil
	}
	setBody(r, body)
	c, err := codingOf(r.Header.Values("Content-Encoding"))
	if err != nil {
		x.seen.doubt(err)
		return nil
	}
	plain, err := c.decode(body, s.o.MaxBody)
	if err != nil {
		x.seen.doubt(err)
		return nil
	}
	result := collapse.Collapse(x.route.shape, conversation.OtherAgent, plain)
	if len(result.Spans) > 0 {
		if err := replaceBody(r, c, result.Body); err != nil {
			result = unchanged(result, plain, err)
		}
	}
	x.seen.history(plain, result)
	return nil
}

// unchanged is a result whose body does not go out.
func unchanged(result collapse.Result, plain []byte, err error) collapse.Result {
	result.Body, result.Spans, result.Reason = plain, nil, err.Error()
	return result
}

// readUpTo reads a body of up to limit bytes. Of a longer one nothing is lost:
// r.Body then gives all of it.
func readUpTo(r *http.Request, limit int64) (body []byte, whole bool, err error) {
	if r.ContentLength > limit {
		return nil, false, nil
	}
	var read bytes.Buffer
	if r.ContentLength > 0 {
		read.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	n, err := read.ReadFrom(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, false, err
	}
	if n > limit {
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&read, r.Body), r.Body}
		return nil, false, nil
	}
	return read.Bytes(), true, nil
}

// setBody gives a request a body that is in memory. The transport may begin anew
// with it when a connection turned out to be closed before anything was sent.
func setBody(r *http.Request, body []byte) {
	again := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = again()
	r.GetBody = again
	r.ContentLength = int64(len(body))
	if len(body) > 0 || r.Header.Get("Content-Length") != "" {
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
}

// replaceBody gives a request another body than it came with.
func replaceBody(r *http.Request, c coding, plain []byte) error {
	if signed(r.Header) {
		return errors.New("the request's signature covers its body")
	}
	body, err := c.encode(plain)
	if err != nil {
		return err
	}
	setBody(r, body)
	for _, name := range []string{"Content-Md5", "Digest", "Content-Digest", "Repr-Digest"} {
		r.Header.Del(name)
	}
	return nil
}

// signed says whether a change of the body would be noticed.
func signed(h http.Header) bool {
	return h.Get("X-Amz-Content-Sha256") != "" || h.Get("Signature-Input") != "" ||
		strings.HasPrefix(h.Get("Authorization"), "AWS4-")
}
