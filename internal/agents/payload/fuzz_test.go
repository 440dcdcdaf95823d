package payload

import (
	"bytes"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzRead reads the input of a hook and looks at its fields.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"cwd":"/home/u","session_id":"x","n":1}{"second":true}`))
	f.Add([]byte(`{"cwd":"C:\Users\d"}`))
	f.Add([]byte("\xef\xbb\xbf{\"a\":\"\\ud800\"}\r\n"))
	f.Add([]byte("\xff\xfe{\x00}\x00"))
	f.Add([]byte(`{"a":"line` + "\n" + `break"}`))
	f.Add([]byte(`{"a":`))
	f.Fuzz(func(t *testing.T, data []byte) {
		object, err := Read(bytes.NewReader(data), 1<<20, time.Now().Add(time.Second))
		if err != nil {
			return
		}
		fields, err := Parse(object)
		if err != nil {
			return
		}
		for _, name := range []string{"cwd", "a", "session_id", "n"} {
			if s := fields.Text(name); !utf8.ValidString(s) {
				t.Errorf("%q is no UTF-8", s)
			}
			_ = fields.Number(name)
			_ = fields.Has(name)
		}
	})
}
