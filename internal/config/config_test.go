package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/internal/config"
)

func TestDefault(t *testing.T) {
	want := config.Checkpoints{
		Enabled: true, Keep: 50, MaxUntrackedMB: 50, MaxNewUntrackedMB: 500,
		AtTurnStart: true, GoneDays: 30, AllowHome: false,
	}
	kept := config.Transcripts{Keep: true, MaxMB: 50, MaxTotalMB: 1000, MaxDays: 30}
	all := config.Config{Agents: config.Agents{Checkpoints: want}, Conversation: config.Conversation{Transcripts: kept}}
	if diff := cmp.Diff(all, config.Default()); diff != "" {
		t.Error(diff)
	}
}

func TestParseEverything(t *testing.T) {
	got, problems := config.Parse([]byte("\xef\xbb\xbf" + `
git = "/opt/git/bin/git"
[agents.checkpoints]
enabled = false
keep = 1000
max_untracked_mb = -1
max_new_untracked_mb = 7
at_turn_start = false
gone_days = 1
allow_home = true
[conversation.checkpoint]
enabled = true
keep_on_abort = true
[conversation.proxy]
anthropic = "https://gateway.example/anthropic"
openai = "http://127.0.0.1:8080/v1"
[conversation.transcripts]
keep = false
max_mb = -1
max_total_mb = 7
max_days = 1
`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := config.Config{Git: "/opt/git/bin/git", Agents: config.Agents{Checkpoints: config.Checkpoints{
		Keep: 1000, MaxUntrackedMB: -1, MaxNewUntrackedMB: 7, GoneDays: 1, AllowHome: true,
	}}, Conversation: config.Conversation{
		Checkpoint:  config.ConversationCheckpoint{Enabled: true, KeepOnAbort: true},
		Proxy:       config.Proxy{Anthropic: "https://gateway.example/anthropic", OpenAI: "http://127.0.0.1:8080/v1"},
		Transcripts: config.Transcripts{MaxMB: -1, MaxTotalMB: 7, MaxDays: 1},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseKeepsDefaultsOfWhatIsNotNamed(t *testing.T) {
	got, problems := config.Parse([]byte("[agents.checkpoints]\nkeep = 7\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	want := config.Default()
	want.Agents.Checkpoints.Keep = 7
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseNamesWhatIsWrong(t *testing.T) {
	cases := []struct {
		name, text string
		want       []string // the problems, as lines; "..." stands for any rest
	}{
		{"near key", "[agents.checkpoints]\nkeeep = 7\n", []string{"line 2: agents.checkpoints.keeep: unknown key, did you mean keep?"}},
		{"far key", "[agents.checkpoints]\nxyzzy = 7\n", []string{"line 2: agents.checkpoints.xyzzy: unknown key"}},
		{"near table", "[agents.checkpoint]\nkeep = 7\n", []string{"line 1: agents.checkpoint: unknown key, did you mean checkpoints?"}},
		{"two keys", "gti = 1\n[agents.checkpoints]\nfoo = 7\n", []string{"line 1: gti: unknown key, did you mean git?", "line 3: agents.checkpoints.foo: unknown key"}},
		{"keep 0", "[agents.checkpoints]\nkeep = 0\n", []string{"agents.checkpoints.keep: 0 is not within 1 to 1000"}},
		{"keep 1001", "[agents.checkpoints]\nkeep = 1001\n", []string{"agents.checkpoints.keep: 1001 is not within 1 to 1000"}},
		{"gone_days", "[agents.checkpoints]\ngone_days = 0\n", []string{"agents.checkpoints.gone_days: 0 is not within 1 to 36500"}},
		{"relative git", `git = "bin/git"`, []string{`git: "bin/git" is not an absolute path`}},
		{"no days", "[conversation.transcripts]\nmax_days = 0\n", []string{"conversation.transcripts.max_days: 0 is not within 1 to 36500"}},
		{"no room", "[conversation.transcripts]\nmax_mb = 0\n", []string{"conversation.transcripts.max_mb: 0 is not within 1 to 1000000000"}},
		{"huge limit", "[agents.checkpoints]\nmax_untracked_mb = 9000000000000000000\n", []string{"agents.checkpoints.max_untracked_mb: 9000000000000000000 is too large"}},
		{"string for number", "[agents.checkpoints]\nkeep = \"many\"\n", []string{"line 2: agents.checkpoints.keep: takes a whole number, 1 to 1000, not a string"}},
		{"fraction", "[agents.checkpoints]\ngone_days = 1.5\n", []string{"line 2: agents.checkpoints.gone_days: takes a whole number, 1 to 36500, not a floating point number"}},
		{"limit", "[agents.checkpoints]\nmax_untracked_mb = 1979-05-27\n", []string{"line 2: agents.checkpoints.max_untracked_mb: takes a whole number, up to 1000000000, or a negative number for no limit, not a local date"}},
		{"number for yes or no", "[agents.checkpoints]\nenabled = 1\n", []string{"line 2: agents.checkpoints.enabled: takes true or false, not a whole number"}},
		{"number for text", "git = 7\n", []string{"line 1: git: takes a string, an absolute path, not a whole number"}},
		{"in an inline table", "agents.checkpoints = {keep = true}\n", []string{"line 1: agents.checkpoints.keep: takes a whole number, 1 to 1000, not a boolean"}},
		{"number for table", "agents = 3\n", []string{"line 1: agents: takes a table, not a whole number"}},
		{"array for table", "[agents]\ncheckpoints = [1]\n", []string{"line 2: agents.checkpoints: takes a table, not an array"}},
		{"array table", "[[agents]]\n", []string{"line 1: agents: takes a table, not an array table"}},
		{"table for text", "[git]\n", []string{"line 1: git: takes a string, an absolute path, not a table"}},
		{"inline table for number", "agents.checkpoints.keep = {a=1}\n", []string{"line 1: agents.checkpoints.keep: takes a whole number, 1 to 1000, not an inline table"}},
		{"table below a number", "[agents.checkpoints.keep.sub]\n", []string{"line 1: agents.checkpoints.keep: takes a whole number, 1 to 1000, not a table"}},
		{"key below a number", "agents.checkpoints.keep.x = 1\n", []string{"line 1: agents.checkpoints.keep: takes a whole number, 1 to 1000, not a table"}},
		{"no number", "[agents.checkpoints]\nkeep = \n", []string{"line 2: ..."}},
		{"no TOML", "keep: 7\n", []string{"line 1: ..."}},
		{"key twice", "[agents.checkpoints]\nkeep = 1\nkeep = 2\n", []string{"..."}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, problems := config.Parse([]byte(c.text))
			got := make([]string, 0, len(problems))
			for _, p := range problems {
				got = append(got, p.String())
			}
			if len(got) != len(c.want) {
				t.Fatalf("problems %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				start, open := strings.CutSuffix(want, "...")
				if got[i] != want && (!open || !strings.HasPrefix(got[i], start)) {
					t.Errorf("problem %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestProxyTakesBaseURLs(t *testing.T) {
	for _, base := range []string{"gateway.example", "ftp://gateway.example", "https://", "https://u:p@gateway.example", "https://gateway.example/?key=1", "/v1"} {
		_, problems := config.Parse([]byte("[conversation.proxy]\ngemini = \"" + base + "\"\n"))
		if len(problems) != 1 || problems[0].Key != "conversation.proxy.gemini" {
			t.Errorf("%q: %v", base, problems)
		}
	}
}

func TestUnknownKeyTellsWhatThereIs(t *testing.T) {
	_, problems := config.Parse([]byte("[agents.checkpoints]\nkeeep = 7\n"))
	if len(problems) != 1 {
		t.Fatal(problems)
	}
	want := []string{"enabled", "keep", "max_untracked_mb", "max_new_untracked_mb", "at_turn_start", "gone_days", "allow_home"}
	if diff := cmp.Diff(want, problems[0].Accepted); diff != "" {
		t.Error(diff)
	}
}

// What the decoder says of Go's types is no word for whoever wrote the file.
func TestProblemsSpeakOfNoGoType(t *testing.T) {
	values := []string{`"x"`, "1", "1.5", "true", "[1]", "{a=1}", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "99999999999999999999", "nan", "0x10"}
	for _, key := range []string{"git", "agents", "agents.checkpoints", "agents.checkpoints.keep", "agents.checkpoints.enabled", "agents.checkpoints.max_untracked_mb"} {
		texts := []string{"[" + key + "]\n", "[[" + key + "]]\n", "[" + key + ".sub]\n", key + ".sub = 1\n"}
		for _, v := range values {
			texts = append(texts, key+" = "+v+"\n")
		}
		for _, text := range texts {
			_, problems := config.Parse([]byte(text))
			for _, p := range problems {
				for _, word := range strings.Fields(p.String()) {
					if slices.Contains([]string{"int", "int64", "bool", "struct", "TOML"}, word) || strings.Contains(word, "config.") {
						t.Errorf("%q: %s", text, p)
					}
				}
			}
		}
	}
}

func TestLoadAbsentFile(t *testing.T) {
	got, err := config.Load(filepath.Join(t.TempDir(), "none", "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), got); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefusesWhatIsNoSettingsFile(t *testing.T) {
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, []byte(strings.Repeat("#", 1<<20+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{dir: "is no regular file", huge: "is larger than 1048576 bytes"}
	for path, want := range cases {
		_, err := config.Load(path)
		var e *config.Error
		if !errors.As(err, &e) || err.Error() != path+": "+want {
			t.Errorf("Load(%s): %v, want %q", path, err, want)
		}
	}
}

func TestPath(t *testing.T) {
	cases := []struct {
		env        map[string]string
		want       string
		impossible bool
	}{
		{env: map[string]string{"HOME": "/home/u"}, want: "/home/u/.config/turnback/config.toml"},
		{env: map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/c"}, want: "/c/turnback/config.toml"},
		{env: map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "c"}, want: "/home/u/.config/turnback/config.toml"},
		{env: map[string]string{}, impossible: true},
	}
	for _, c := range cases {
		got, err := config.Path(func(name string) string { return c.env[name] })
		if got != c.want || (err != nil) != c.impossible {
			t.Errorf("Path with %v: %q, %v; want %q", c.env, got, err, c.want)
		}
	}
}
