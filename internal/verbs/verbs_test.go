package verbs_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/verbs"
)

// Place is embedded as the wire types embed api.Place.
type Place struct {
	Session string `json:"session,omitempty"`
	Window  string `json:"window,omitempty"`
}

type params struct {
	Place
	N       int      `json:"n"`
	Paths   []string `json:"paths,omitempty"`
	Context *int     `json:"context,omitempty"`
	Force   bool     `json:"force,omitempty"`
	hidden  int      // must not be a parameter
}

func restoreVerb(run func(context.Context, verbs.Call) (any, error)) verbs.Verb {
	return verbs.Verb{
		Name: "restore", Grant: verbs.GrantWrite, Summary: "Restore.",
		Params: func() any { return &params{} }, Errors: []string{"no_checkpoint"},
		Example: `{"n":1}`, Run: run,
	}
}

func echo(_ context.Context, c verbs.Call) (any, error) { return c.Params, nil }

func table(t *testing.T, all ...verbs.Verb) *verbs.Table {
	t.Helper()
	out, err := verbs.NewTable(all...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecodeFillsTheParameters(t *testing.T) {
	three := 3
	got := &params{}
	err := verbs.Decode([]byte(` {"n":2,"paths":["a","b"],"context":3,"force":true,"session":"api"} `), got)
	if err != nil {
		t.Fatal(err)
	}
	want := &params{Place: Place{Session: "api"}, N: 2, Paths: []string{"a", "b"}, Context: &three, Force: true, hidden: 0}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(params{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	cases := []struct {
		name, in, message string
		param, didYouMean string
	}{
		{"unknown name", `{"n":1,"sesion":"api"}`, `unknown parameter "sesion"`, "sesion", "session"},
		{"unknown and far", `{"n":1,"xyzzy":1}`, `unknown parameter "xyzzy"`, "xyzzy", ""},
		{"other case", `{"N":1}`, `unknown parameter "N"`, "N", "n"},
		{"unexported", `{"n":1,"hidden":1}`, `unknown parameter "hidden"`, "hidden", ""},
		{"given twice", `{"n":1,"n":2}`, `parameter "n" is given twice`, "n", ""},
		{"missing", `{"force":true}`, `parameter "n" is missing`, "n", ""},
		{"nothing at all", ``, `parameter "n" is missing`, "n", ""},
		{"null", `{"n":null}`, `parameter "n" is null, not an integer`, "n", ""},
		{"string for a number", `{"n":"1"}`, `parameter "n" is a string, not an integer`, "n", ""},
		{"fraction", `{"n":1.5}`, `parameter "n" is number 1.5, not an integer`, "n", ""},
		{"too large", `{"n":99999999999999999999}`, `parameter "n" is number 99999999999999999999, not an integer`, "n", ""},
		{"number for a string", `{"n":1,"session":7}`, `parameter "session" is a number, not a string`, "session", ""},
		{"string for a list", `{"n":1,"paths":"a"}`, `parameter "paths" is a string, not an array of strings`, "paths", ""},
		{"number in a list", `{"n":1,"paths":[1]}`, `parameter "paths" is a number, not an array of strings`, "paths", ""},
		{"no object", `[1]`, `the parameters are no JSON object`, "", ""},
		{"null alone", `null`, `the parameters are no JSON object`, "", ""},
		{"half", `{"n":1`, `the parameters end in the middle of a JSON value`, "", ""},
		{"half a value", `{"n":`, `the parameters end in the middle of a JSON value`, "", ""},
		{"more", `{"n":1}{"n":2}`, `there is more after the parameters' object`, "", ""},
		{"garbage after", `{"n":1} x`, `there is more after the parameters' object`, "", ""},
		{"no JSON", `n=1`, `the parameters are not JSON: `, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := verbs.Decode([]byte(c.in), &params{})
			var e *api.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v (%T), want an *api.Error", err, err)
			}
			if e.Code != api.CodeInvalidParams {
				t.Errorf("code %q", e.Code)
			}
			if e.Message != c.message && (!strings.HasSuffix(c.message, ": ") || !strings.HasPrefix(e.Message, c.message)) {
				t.Errorf("message %q, want %q", e.Message, c.message)
			}
			hint := api.Hint{}
			if e.Hint != nil {
				hint = *e.Hint
			}
			if hint.Param != c.param || hint.DidYouMean != c.didYouMean {
				t.Errorf("hint %+v, want param %q and did_you_mean %q", hint, c.param, c.didYouMean)
			}
		})
	}
}

func TestRun(t *testing.T) {
	tab := table(t, restoreVerb(echo))
	got, err := tab.Run(t.Context(), "restore", []byte(`{"n":7}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.(*params).N != 7 {
		t.Errorf("n = %d, want 7", got.(*params).N)
	}
}

func TestRunGivesProgressThatIsNeverNil(t *testing.T) {
	tab := table(t, restoreVerb(func(_ context.Context, c verbs.Call) (any, error) {
		c.Progress(api.Progress{What: "writing files", Done: 1})
		return nil, nil
	}))
	got, err := tab.Run(t.Context(), "restore", []byte(`{"n":7}`), nil)
	if err != nil || got == nil {
		t.Fatalf("result %v, error %v; want a result that is not nil", got, err)
	}
}

func TestRunMakesEveryErrorOneWithACode(t *testing.T) {
	cases := []struct {
		err  error
		code api.Code
	}{
		{errors.New("boom"), api.CodeInternal},
		{api.Errorf(api.CodeNotReady, "busy"), api.CodeNotReady},
	}
	for _, c := range cases {
		tab := table(t, restoreVerb(func(context.Context, verbs.Call) (any, error) { return nil, c.err }))
		_, err := tab.Run(t.Context(), "restore", []byte(`{"n":7}`), nil)
		var e *api.Error
		if !errors.As(err, &e) || e.Code != c.code {
			t.Errorf("error %v, want code %s", err, c.code)
		}
	}
}

func TestUnknownVerbNamesTheNearest(t *testing.T) {
	_, err := table(t, restoreVerb(echo)).Run(t.Context(), "restor", nil, nil)
	e := api.AsError(err)
	if e.Code != api.CodeUnknownVerb || e.Hint == nil || e.Hint.DidYouMean != "restore" {
		t.Errorf("error %+v with hint %+v", e, e.Hint)
	}
}

func TestNewTableRefusesWhatIsNotWhollyDescribed(t *testing.T) {
	change := func(f func(*verbs.Verb)) verbs.Verb {
		v := restoreVerb(echo)
		f(&v)
		return v
	}
	cases := map[string][]verbs.Verb{
		"no name":            {change(func(v *verbs.Verb) { v.Name = "" })},
		"name with space":    {change(func(v *verbs.Verb) { v.Name = "a b" })},
		"unknown grant":      {change(func(v *verbs.Verb) { v.Grant = "owner" })},
		"no summary":         {change(func(v *verbs.Verb) { v.Summary = "" })},
		"nothing to run":     {change(func(v *verbs.Verb) { v.Run = nil })},
		"params no pointer":  {change(func(v *verbs.Verb) { v.Params = func() any { return params{} } })},
		"example is refused": {change(func(v *verbs.Verb) { v.Example = `{"number":1}` })},
		"twice":              {restoreVerb(echo), restoreVerb(echo)},
	}
	for name, all := range cases {
		if _, err := verbs.NewTable(all...); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestListDescribesParameters(t *testing.T) {
	got := table(t, restoreVerb(echo)).List()
	want := []api.VerbInfo{{
		Name: "restore", Grant: "write", Summary: "Restore.", Errors: []string{"no_checkpoint"}, Example: `{"n":1}`,
		Params: []api.Field{
			{Name: "session", Type: "string", Optional: true},
			{Name: "window", Type: "string", Optional: true},
			{Name: "n", Type: "integer"},
			{Name: "paths", Type: "array of strings", Optional: true},
			{Name: "context", Type: "integer", Optional: true},
			{Name: "force", Type: "boolean", Optional: true},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzDecode: whatever comes, the answer is parameters or invalid_params.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"n":1}`, `{"n":1,"paths":["\ud800"]}`, `{"N":1}`, `[`, `{"n":1}}`, "\xff", `{"n":{"n":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		err := verbs.Decode(data, &params{})
		var e *api.Error
		if err != nil && (!errors.As(err, &e) || e.Code != api.CodeInvalidParams) {
			t.Errorf("Decode(%q): %v", data, err)
		}
	})
}
