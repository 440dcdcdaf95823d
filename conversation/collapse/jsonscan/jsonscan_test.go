package jsonscan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/conversation/collapse/jsonscan"
)

func scanned(text []byte) error {
	s := jsonscan.New(text)
	s.Skip()
	return s.End()
}

func TestWhatIsJSON(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, ` { "a" : [ 1 , 2.50e+3 , -0 , "x\u00e9\"" , null , true , false ] } `, `"a"`, `0`, `1.0`, `9007199254740993`,
		``, ` `, `{`, `[`, `[1,]`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{1:2}`, `[1 2]`, `01`, `1.`, `-`, `.5`, `1e`, `tru`, `nul`, `"a`, `"\x"`,
		`"\u12g4"`, "\"\n\"", `{}{}`, `[}`, `{"a":[}]`, `]`, `+1`, `"\`, `"\u12`, `{"a" "b"}`, `[,1]`, `{,"a":1}`,
	} {
		if got, want := scanned([]byte(text)) == nil, json.Valid([]byte(text)); got != want {
			t.Errorf("%q: JSON %v, want %v", text, got, want)
		}
	}
}

func TestDepthHasALimit(t *testing.T) {
	t.Parallel()
	if err := scanned([]byte(strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000))); !errors.Is(err, jsonscan.ErrTooDeep) {
		t.Errorf("%v", err)
	}
	if err := scanned([]byte(strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000))); err != nil {
		t.Errorf("9,000 levels: %v", err)
	}
}

func TestMembersAndElements(t *testing.T) {
	t.Parallel()
	text := []byte(` {"a":1, "b\u0063" : [ {"x":"y"} ,2],"a":{"deep":[1,{}]}} `)
	var got []string
	s := jsonscan.New(text)
	whole := s.Object(func(key []byte) {
		if string(key) != "bc" {
			got = append(got, string(key))
			return
		}
		s.Array(func() { got = append(got, "element "+string(s.Skip().In(text))) })
	})
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", `element {"x":"y"}`, "element 2", "a"}, got); diff != "" {
		t.Error(diff)
	}
	if got, want := string(whole.In(text)), strings.TrimSpace(string(text)); got != want {
		t.Errorf("the object is %q", got)
	}
}

func TestOtherKindsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `"a"`, `1`, ``} {
		s := jsonscan.New([]byte(text))
		if s.Object(func([]byte) {}); !errors.Is(s.Err(), jsonscan.ErrSyntax) {
			t.Errorf("%q as an object: %v", text, s.Err())
		}
	}
}

func TestQuoteKeepsAngleBrackets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a<b>&c", "line\nline\t\"q\" \\", "é\u2028 \x01 🙂"} {
		quoted := jsonscan.Quote(text)
		if back, ok := jsonscan.Unquote(quoted); !ok || back != text {
			t.Errorf("%q became %s and that %q", text, quoted, back)
		}
		if strings.Contains(string(quoted), `\u003c`) {
			t.Errorf("%s", quoted)
		}
	}
	for _, bad := range []string{``, `"`, `1`, `"a`, `"a"b"`, `null`, `"\x"`} {
		if text, ok := jsonscan.Unquote([]byte(bad)); ok {
			t.Errorf("%q is taken for the string %q", bad, text)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, text := range []string{`{"a":[1,"\u00e9\\",{}]}`, `[[[`, `"\ud800"`, `1e5`, `{"a":1,"a":2}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, want := scanned(text) == nil, json.Valid(text); got != want {
			t.Fatalf("%q: JSON %v, want %v", text, got, want)
		}
		var want string
		if err := json.Unmarshal(text, &want); err == nil && len(text) > 0 && text[0] == '"' && text[len(text)-1] == '"' {
			if got, ok := jsonscan.Unquote(text); !ok || got != want {
				t.Fatalf("%q reads %q, want %q", text, got, want)
			}
		}
	})
}
