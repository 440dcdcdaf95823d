package house_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/test/house"
)

// control is a small tree and what a rule has to find in it. Beside each thing
// that breaks the rule stands one that looks like it and does not.
type control struct {
	rule  string
	files map[string]string
	want  []string
}

func importing(pkg string, paths ...string) string {
	text := "package " + pkg + "\n"
	for _, path := range paths {
		text += fmt.Sprintf("import _ %q\n", path)
	}
	return text
}

func importControls() []control {
	return []control{
		{
			rule: "floors",
			files: map[string]string{
				"checkpoint/up.go":                importing("checkpoint", "m/internal/turns"),
				"checkpoint/down.go":              importing("checkpoint", "m/internal/git", "m/internal/xec", "fmt", "example.com/turns"),
				"checkpoint/up_test.go":           importing("checkpoint_test", "m/internal/turns"),
				"internal/agents/claude/in.go":    importing("claude", "m/internal/agents"),
				"internal/snapshot/index/side.go": importing("index", "m/internal/restore"),
				"internal/lost/lost.go":           "package lost\n",
				"internal/testutil/x/any.go":      importing("x", "m/internal/daemon"),
			},
			want: []string{
				"checkpoint/up.go:2: checkpoint imports turns, which is not below it (rule floors)",
				`internal/lost: room "lost" stands on no floor (rule floors)`,
				"internal/snapshot/index/side.go:2: snapshot imports restore, which is not below it (rule floors)",
			},
		},
		{
			rule: "faces",
			files: map[string]string{
				"internal/cli/ok.go":        importing("cli", "m/internal/connect", "m/internal/api", "m/internal/git"),
				"internal/cli/pages/bad.go": importing("pages", "m/checkpoint"),
				"internal/tour/bad.go":      importing("tour", "m/internal/daemon"),
				"cmd/turnback/main.go":      importing("main", "m/internal/daemon"),
			},
			want: []string{
				"internal/cli/pages/bad.go:2: cli imports checkpoint (rule faces)",
				"internal/tour/bad.go:2: tour imports daemon (rule faces)",
			},
		},
		{
			rule: "wire",
			files: map[string]string{
				"internal/api/bad.go":      importing("api", "m/internal/xec"),
				"internal/api/ok.go":       importing("api", "encoding/json"),
				"internal/api/ok_test.go":  importing("api_test", "m/internal/xec"),
				"internal/config/other.go": importing("config", "m/internal/xec"),
			},
			want: []string{"internal/api/bad.go:2: api imports internal/xec (rule wire)"},
		},
		{
			rule: "library",
			files: map[string]string{
				"conversation/bad.go":         importing("conversation", "m/internal/xec", "encoding/json"),
				"conversation/part/bad.go":    importing("part", "m/conversation", "golang.org/x/sys/unix"),
				"conversation/part/ok.go":     importing("part", "m/conversation", "syscall"),
				"conversation/bad_test.go":    importing("conversation_test", "pgregory.net/rapid"),
				"internal/conversations/a.go": importing("conversations", "m/conversation", "m/internal/xec"),
			},
			want: []string{
				"conversation/bad.go:2: imports m/internal/xec (rule library)",
				"conversation/part/bad.go:3: imports golang.org/x/sys/unix (rule library)",
			},
		},
		{
			rule: "tests",
			files: map[string]string{
				"checkpoint/bad.go":     importing("checkpoint", "m/internal/testutil/gittest", "testing"),
				"checkpoint/ok_test.go": importing("checkpoint", "m/internal/testutil/gittest", "testing"),
				"test/e2e/ok.go":        importing("e2e", "m/internal/testutil/gittest", "testing"),
			},
			want: []string{
				"checkpoint/bad.go:2: imports internal/testutil/gittest (rule tests)",
				"checkpoint/bad.go:3: imports testing (rule tests)",
			},
		},
	}
}

func placeControls() []control {
	return []control{
		{
			rule: "exec",
			files: map[string]string{
				"internal/xec/xec.go":        importing("xec", "os/exec"),
				"internal/xec/inner/bad.go":  importing("inner", "os/exec"),
				"internal/git/git.go":        importing("git", "os/exec"),
				"internal/git/git_test.go":   importing("git", "os/exec"),
				"internal/git/low.go":        "package git\nimport \"os\"\nfunc f() { os.StartProcess(\"x\", nil, nil) }\n",
				"internal/git/replace.go":    "package git\nimport u \"golang.org/x/sys/unix\"\nfunc g() { u.Exec(\"x\", nil, nil) }\n",
				"internal/testutil/x/any.go": importing("x", "os/exec"),
			},
			want: []string{
				"internal/git/git.go:2: imports os/exec (rule exec)",
				"internal/git/low.go:3: uses os.StartProcess (rule exec)",
				"internal/git/replace.go:3: uses unix.Exec (rule exec)",
				"internal/xec/inner/bad.go:2: imports os/exec (rule exec)",
			},
		},
		{
			rule: "exit",
			files: map[string]string{
				"cmd/turnback/main.go": "package main\nimport \"os\"\nfunc main() { os.Exit(1) }\n",
				"internal/cli/bad.go":  "package cli\nimport (\n\"log\"\nsys \"os\"\n)\nfunc f() {\nlog.Fatalf(\"x\")\nsys.Exit(1)\n}\n",
				"internal/cli/ok.go":   "package cli\ntype os struct{ Exit func(int) }\nfunc g(os os) { os.Exit(1) }\n",
			},
			want: []string{
				"internal/cli/bad.go:7: uses log.Fatalf (rule exit)",
				"internal/cli/bad.go:8: uses os.Exit (rule exit)",
			},
		},
		{
			rule: "ambient",
			files: map[string]string{
				"cmd/turnback/main.go":     "package main\nimport \"os\"\nfunc main() { _ = os.Environ() }\n",
				"internal/config/bad.go":   "package config\nimport \"os\"\nfunc f() {\n_ = os.Getenv(\"HOME\")\n_, _ = os.Getwd()\n_ = os.Stdout\n}\n",
				"internal/config/ok.go":    "package config\nimport \"os\"\nfunc g() { _, _ = os.ReadFile(\"x\") }\n",
				"internal/config/_test.go": "package config\n",
			},
			want: []string{
				"internal/config/bad.go:4: uses os.Getenv (rule ambient)",
				"internal/config/bad.go:5: uses os.Getwd (rule ambient)",
				"internal/config/bad.go:6: uses os.Stdout (rule ambient)",
			},
		},
		{
			rule: "globals",
			files: map[string]string{
				"internal/git/ok.go": `package git
import ("errors"; "fmt"; _ "embed")
var ErrGone = errors.New("gone")
var (
	errHere = fmt.Errorf("here: %w", ErrGone)
	_ error = (*T)(nil)
)
//go:embed text.txt
var text string
func f() { var local int; _ = local }
`,
				"internal/git/bad.go": `package git
import "errors"
var cache = map[string]string{}
var made = errors.New("not named as an error")
var ErrList = []error{ErrGone}
var a, b int
`,
				"internal/git/ok_test.go": "package git\nvar table = 1\n",
			},
			want: []string{
				"internal/git/bad.go:3: package variable cache (rule globals)",
				"internal/git/bad.go:4: package variable made (rule globals)",
				"internal/git/bad.go:5: package variable ErrList (rule globals)",
				"internal/git/bad.go:6: package variable a (rule globals)",
				"internal/git/bad.go:6: package variable b (rule globals)",
			},
		},
		{
			rule: "init",
			files: map[string]string{
				"internal/git/bad.go": "package git\nfunc init() {}\n",
				"internal/git/ok.go":  "package git\ntype T struct{}\nfunc (T) init() {}\n",
			},
			want: []string{"internal/git/bad.go:2: init function (rule init)"},
		},
	}
}

// lines is a file, or the inside of a function, of n lines.
func lines(n int) string { return strings.Repeat("// line\n", n) }

func sizeControls() []control {
	method := func(from, to int) string {
		text := ""
		for i := from; i < to; i++ {
			text += fmt.Sprintf("\tM%d()\n", i)
		}
		return text
	}
	return []control{
		{
			rule: "package size",
			files: map[string]string{
				"internal/big/a.go":         "package big\n" + lines(1500),
				"internal/big/b.go":         "package big\n" + lines(1499),
				"internal/full/a.go":        "package full\n" + lines(1500),
				"internal/full/b.go":        "package full\n" + lines(1498),
				"internal/full/a_test.go":   "package full\n" + lines(500),
				"internal/full/inner/in.go": "package inner\n" + lines(500),
			},
			want: []string{"internal/big: package has 3001 lines, at most 3000 (rule package size)"},
		},
		{
			rule: "file size",
			files: map[string]string{
				"internal/git/full.go":     "package git\n" + lines(599),
				"internal/git/big.go":      "package git\n" + lines(600),
				"internal/git/big_test.go": "package git\n" + lines(600),
			},
			want: []string{
				"internal/git/big.go: file has 601 lines, at most 600 (rule file size)",
				"internal/git/big_test.go: file has 601 lines, at most 600 (rule file size)",
			},
		},
		{
			rule: "function size",
			files: map[string]string{
				"internal/git/a.go":      "package git\nfunc full() {\n" + lines(98) + "}\nfunc (t T) big() {\n" + lines(99) + "}\n",
				"internal/git/a_test.go": "package git\nfunc big() {\n" + lines(200) + "}\n",
			},
			want: []string{"internal/git/a.go:102: big has 101 lines, at most 100 (rule function size)"},
		},
		{
			rule: "interface size",
			files: map[string]string{
				"internal/git/a.go": "package git\nimport \"io\"\ntype Full interface {\n" + method(0, 7) + "}\n" +
					"type Big interface {\n" + method(0, 8) + "}\n" +
					"type Sum interface {\nFull\nio.Reader\n}\n" +
					"type Number interface { ~int | ~int8 }\n" +
					"func f(x interface {\n" + method(0, 8) + "}) {}\n",
			},
			want: []string{
				"internal/git/a.go:12: interface Big has 8 methods, at most 7 (rule interface size)",
				"internal/git/a.go:22: interface Sum has 8 methods, at most 7 (rule interface size)",
				"internal/git/a.go:27: interface interface{...} has 8 methods, at most 7 (rule interface size)",
			},
		},
	}
}

func TestNegativeControls(t *testing.T) {
	t.Parallel()
	rules := map[string]house.Rule{}
	for _, rule := range house.Rules() {
		rules[rule.Name] = rule
	}
	controls := append(append(importControls(), placeControls()...), sizeControls()...)
	for _, c := range controls {
		rule, ok := rules[c.rule]
		if !ok {
			t.Fatalf("there is no rule %q", c.rule)
		}
		delete(rules, c.rule)
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			source, err := house.Read(tree(c.files))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range rule.Check(source) {
				got = append(got, v.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
	for name := range rules {
		t.Errorf("rule %q was never seen to fail: it needs a control", name)
	}
}

func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{
		"go.mod":             {Data: []byte("module m\n\ngo 1.26.0\n")},
		"tools/go.mod":       {Data: []byte("module m/tools\n")},
		"tools/tools.go":     {Data: []byte("not read: a module of its own")},
		"testdata/broken.go": {Data: []byte("not read: test data")},
		".cache/broken.go":   {Data: []byte("not read: hidden")},
	}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestMachinePathsControl(t *testing.T) {
	t.Parallel()
	home, super := "/ho"+"me/", "/ro"+"ot/"
	fsys := fstest.MapFS{
		"ok.md":   {Data: []byte(home + "u/src/api\n" + home + "you/x\n$WORK" + home + "config/x\nrefs" + super + "x\na path: ~/src\n")},
		"bad.md":  {Data: []byte("first\nsee " + home + "somebody/src\n\"" + super + "x\"\nin /src/checkout/x\n")},
		"raw.bin": {Data: []byte("\x00" + home + "somebody/")},
	}
	paths := house.Paths{Machine: []string{"/src/checkout"}}
	found, err := paths.Check(fsys, []string{"ok.md", "bad.md", "raw.bin"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range found {
		got = append(got, v.String())
	}
	want := []string{
		"bad.md:2: names " + home + "somebody/ (rule machine paths)",
		"bad.md:3: names " + super + " (rule machine paths)",
		"bad.md:4: names /src/checkout (rule machine paths)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
