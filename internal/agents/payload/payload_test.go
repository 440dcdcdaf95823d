package payload

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"

	"pgregory.net/rapid"
)

const limit = 1 << 20

func soon() time.Time { return time.Now().Add(5 * time.Second) }

func utf16Bytes(order binary.AppendByteOrder, mark bool, text string) []byte {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xFEFF)
	}
	for _, unit := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

func TestRead(t *testing.T) {
	const object = `{"a":"}\"{","b":[{"c":1}],"d":"é𝄞"}`
	tests := []struct {
		name string
		in   []byte
		want string
		err  error
	}{
		{"plain", []byte(object), object, nil},
		{"blanks before", []byte("\r\n\t " + object), object, nil},
		{"something behind", []byte(object + "\n{\"x\":1} garbage"), object, nil},
		{"UTF-8 mark", []byte("\xEF\xBB\xBF" + object), object, nil},
		{"UTF-16, little end first", utf16Bytes(binary.LittleEndian, true, object), object, nil},
		{"UTF-16, big end first", utf16Bytes(binary.BigEndian, true, "\r\n"+object), object, nil},
		{"a mark in the middle is text", []byte("{\"a\":\"\uFEFFx\"}"), "{\"a\":\"\uFEFFx\"}", nil},
		{"a mark in the middle of UTF-16", utf16Bytes(binary.BigEndian, true, "{\"a\":\"\uFEFFx\"}"), "{\"a\":\"\uFEFFx\"}", nil},
		{"line ends of Windows", []byte("{\r\n\"a\": 1\r\n}\r\n"), "{\r\n\"a\": 1\r\n}", nil},
		{"nothing", nil, "", ErrEmpty},
		{"blanks", []byte(" \n"), "", ErrEmpty},
		{"a mark and nothing", []byte("\xEF\xBB\xBF"), "", ErrEmpty},
		{"garbage", []byte("hello {}"), "", ErrNotObject},
		{"a list", []byte(`[{}]`), "", ErrNotObject},
		{"UTF-16 without a mark", utf16Bytes(binary.LittleEndian, false, object), "", ErrIncomplete},
		{"half an object", []byte(`{"a":"b`), "", ErrIncomplete},
		{"an open string", []byte(`{"a":"\"}`), "", ErrIncomplete},
		{"too large", []byte(`{"a":"` + strings.Repeat("x", limit) + `"}`), "", ErrTooLarge},
		{"too large and half", []byte(`{"a":"` + strings.Repeat("x", limit)), "", ErrTooLarge},
		{"as large as may be", []byte(`{"a":"` + strings.Repeat("x", limit-8) + `"}`), `{"a":"` + strings.Repeat("x", limit-8) + `"}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"at once": bytes.NewReader(tt.in), "in halves": iotest.HalfReader(bytes.NewReader(tt.in)),
				"byte by byte": iotest.OneByteReader(bytes.NewReader(tt.in)), "with the end": iotest.DataErrReader(bytes.NewReader(tt.in)),
			} {
				got, err := Read(r, limit, soon())
				if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
					t.Errorf("%s: error %v, want %v", how, err, tt.err)
				}
				if string(got) != tt.want {
					t.Errorf("%s: got %d bytes %.60q, want %.60q", how, len(got), got, tt.want)
				}
			}
		})
	}
}

func TestReadOfAnInputThatIsNeverClosed(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString(`{"a":1}` + "\n"); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	got, err := Read(r, limit, start.Add(10*time.Second))
	if err != nil || string(got) != `{"a":1}` {
		t.Errorf("Read = %q, %v", got, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v: it waited for more than there is", took)
	}
}

func TestReadEndsInTime(t *testing.T) {
	for name, text := range map[string]string{"silence": "", "half an object": `{"a":`} {
		t.Run(name, func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			if _, err := w.WriteString(text); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			if _, err := Read(r, limit, start.Add(50*time.Millisecond)); !errors.Is(err, ErrTimeout) {
				t.Errorf("error %v, want %v", err, ErrTimeout)
			}
			if took := time.Since(start); took < 50*time.Millisecond || took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// endless gives blanks for ever.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestReadOfEndlessInputEndsInTime(t *testing.T) {
	if _, err := Read(endless{}, limit, time.Now().Add(20*time.Millisecond)); err == nil {
		t.Error("no error")
	}
}

func TestReadOfBrokenInput(t *testing.T) {
	broken := errors.New("broken")
	if _, err := Read(iotest.ErrReader(broken), limit, soon()); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestReadFindsTheEndOfAnyObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		key := rapid.String().Draw(t, "key")
		object := `{` + quote(key) + `:[` + quote(text) + `,{"n":null}]}`
		got, err := Read(strings.NewReader(object+rapid.String().Draw(t, "behind")), limit, soon())
		if err != nil || string(got) != object {
			t.Fatalf("Read = %q, %v, want %q", got, err, object)
		}
		f, err := Parse(got)
		if err != nil || f.Repaired {
			t.Fatalf("Parse: repaired %v, %v", f.Repaired, err)
		}
	})
}
