package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/agentstate"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/config"
	"github.com/turnback/turnback/internal/git/locate"
)

// in gives what pattern's group finds in a source file, each once.
func in(t *testing.T, file, pattern string) []string {
	t.Helper()
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, file).text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) < 2 {
		t.Fatalf("%s: the pattern %s finds %q", file, pattern, found)
	}
	return found
}

// TestTrailersAreTold holds docs/format.md against what is written and read.
func TestTrailersAreTold(t *testing.T) {
	t.Parallel()
	const source = "checkpoint/record/format.go"
	written := append(in(t, source, `\bt\.Add(?:List)?\("([A-Za-z-]+)"`), "Format") // package trailers writes that one itself
	written = append(written, in(t, "checkpoint/record/trash.go", `\bt\.Add\("([A-Za-z-]+)"`)...)
	if seen := in(t, source, `(?:t\.Get|number)\("([A-Za-z-]+)"\)`); len(seen) < 20 {
		t.Errorf("only %d trailers that are read were found", len(seen))
	}
	p := read(t, format)
	for _, name := range slices.Concat(written, in(t, source, `(?:t\.Get|t\.List|number)\("([A-Za-z-]+)"`)) {
		if !has(p.text, "Turnback-"+name) {
			t.Errorf("%s does not tell of the trailer Turnback-%s", p.name, name)
		}
	}
	for _, name := range code(p.text) {
		if trailer, ok := strings.CutPrefix(name, "Turnback-"); ok && !slices.Contains(written, trailer) {
			t.Errorf("%s tells of %s, which nothing writes", p.name, name)
		}
	}
	for _, role := range in(t, source, `Role[A-Z]\w+\s+= "(\w+)"`) {
		if !has(p.text, role) {
			t.Errorf("%s does not tell of the role %s", p.name, role)
		}
	}
}

// TestWordsOfCheckpointsAreTold looks for every kind, reason and state in the two
// pages that list them.
func TestWordsOfCheckpointsAreTold(t *testing.T) {
	t.Parallel()
	words := in(t, "internal/snapshot/snapshot.go", `(?m)^\t(?:[AC-Z]\w+|B[^y]\w+)\s+= "([a-z ]+)"$`) // reasons, not the words for bytes
	for _, kind := range []checkpoint.Kind{
		checkpoint.KindTurn, checkpoint.KindStart, checkpoint.KindSafety, checkpoint.KindManual, checkpoint.KindConversation,
	} {
		words = append(words, string(kind))
	}
	for _, state := range append(agentstate.States(), agentstate.Aborted) {
		if state != agentstate.Working { // no turn ends in it
			words = append(words, string(state))
		}
	}
	for _, p := range []page{read(t, format), read(t, jsonMD)} {
		for _, word := range words {
			if !has(p.text, word) {
				t.Errorf("%s does not tell of %q", p.name, word)
			}
		}
	}
}

// TestErrorCodesAreTold holds the table of docs/json.md, and the exit statuses in
// it, against the codes.
func TestErrorCodesAreTold(t *testing.T) {
	t.Parallel()
	p := read(t, jsonMD)
	text := p.section("## Errors")
	for _, name := range in(t, "internal/api/errors.go", `Code\w+\s+Code = "(\w+)"`) {
		status := api.Code(name).ExitStatus()
		row := fmt.Sprintf("| `%s` | %d |", name, status)
		reserved := status == 4 && regexp.MustCompile("reserved for[^|]*`"+name+"`").MatchString(text)
		if strings.Count(text, row) != 1 && !reserved {
			t.Errorf("%s has no row %s", p.name, row)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \|`).FindAllStringSubmatch(read(t, readme).section("## Exit status"), -1) {
		if !slices.Contains([]string{"0", "1", "2", "3", "4", "130"}, m[1]) {
			t.Errorf("%s tells of an exit status %s", readme, m[1])
		}
	}
}

// TestEventsAreTold looks for every type of event.
func TestEventsAreTold(t *testing.T) {
	t.Parallel()
	text := read(t, jsonMD).section("## Events")
	var types []string
	for _, source := range []struct{ file, pattern string }{
		{"internal/turns/change.go", `\.event\("(\w+)"|turnEvent\("(?:\w+)"`},
		{"internal/turns/queue.go", `e\.Type, e\.\w+ = "(\w+)"`},
	} {
		for _, m := range regexp.MustCompile(source.pattern).FindAllStringSubmatch(read(t, source.file).text, -1) {
			types = append(types, m[1])
		}
	}
	types = append(types, in(t, "internal/turns/change.go", `turnEvent\("(\w+)"`)...)
	types = append(types, in(t, "internal/daemon/daemon.go", `Event\{Type: "(\w+)"`)...)
	types = append(types, "restored", "dropped")
	for _, name := range types {
		if name != "" && !has(text, name) {
			t.Errorf("%s does not tell of the event %s", jsonMD, name)
		}
	}
}

// TestSettingsAreTold reads the configuration that the manual shows: it is every
// setting, with its default.
func TestSettingsAreTold(t *testing.T) {
	t.Parallel()
	blocks, _ := read(t, manual).blocks()
	i := slices.IndexFunc(blocks, func(b block) bool { return b.kind == "toml" })
	if i < 0 {
		t.Fatalf("%s shows no configuration", manual)
	}
	shown, problems := config.Parse([]byte(blocks[i].text))
	if len(problems) > 0 {
		t.Fatalf("%s: %v", manual, problems)
	}
	if diff := cmp.Diff(config.Default(), shown); diff != "" {
		t.Errorf("%s shows other defaults (-want +shown):\n%s", manual, diff)
	}
	text := blocks[i].text
	for _, b := range blocks[i+1:] { // tables that have no default
		if b.kind == "toml" {
			if _, problems := config.Parse([]byte(b.text)); len(problems) > 0 {
				t.Errorf("%s: %v", manual, problems)
			}
			text += "\n" + b.text
		}
	}
	keys := in(t, "internal/config/config.go", "toml:\"(\\w+)\"")
	for _, key := range keys {
		if !regexp.MustCompile(`(?m)^\[?((agents?|conversation)\.)?`+key+`\b`).MatchString(text) && key != "agents" && key != "conversation" {
			t.Errorf("%s does not show the setting %s", manual, key)
		}
	}
}

// TestVersionOfGitIsTold looks for the oldest git that is taken.
func TestVersionOfGitIsTold(t *testing.T) {
	t.Parallel()
	oldest := locate.Oldest()
	want := fmt.Sprintf("git %d.%d or newer", oldest.Major, oldest.Minor)
	if text := read(t, readme).text; !strings.Contains(text, want) {
		t.Errorf("%s does not say %q", readme, want)
	}
}
