package docs_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
)

// listVerbs asks a daemon that runs in this process for its table.
func listVerbs(t *testing.T) []api.VerbInfo {
	t.Helper()
	run, err := os.MkdirTemp("", "tb") // a short path: a socket's is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	home := t.TempDir()
	environ := []string{
		"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"TURNBACK_SOCKET=" + filepath.Join(run, "s"),
	}
	options, err := daemon.FromEnviron(environ, os.Getuid(), "test", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	d, err := daemon.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var ended error
	var running sync.WaitGroup
	running.Go(func() { ended = d.Run(ctx) })
	defer func() {
		stop()
		running.Wait()
		if ended != nil {
			t.Error(ended)
		}
	}()
	client := api.NewClient(options.Socket)
	var result api.ListVerbsResult
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if err = client.Call(ctx, "list-verbs", nil, &result, nil); err == nil {
			return result.Verbs
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// results gives an empty result of every verb.
func results() map[string]any {
	restored := api.RestoreResult{}
	return map[string]any{
		"list-checkpoints":    api.ListCheckpointsResult{},
		"show-checkpoint":     api.ShowCheckpointResult{},
		"checkpoint-diff":     api.CheckpointDiffResult{},
		"restore-checkpoint":  restored,
		"revert-checkpoint":   restored,
		"continue-restore":    restored,
		"abort-restore":       restored,
		"undo":                restored,
		"redo":                restored,
		"save-checkpoint":     api.SaveCheckpointResult{},
		"drop-checkpoints":    api.DropCheckpointsResult{},
		"prune-checkpoints":   api.DropCheckpointsResult{},
		"branch-checkpoint":   api.BranchCheckpointResult{},
		"verify-checkpoints":  api.VerifyCheckpointsResult{},
		"mend-checkpoints":    api.VerifyCheckpointsResult{},
		"untrash-checkpoints": api.UntrashCheckpointsResult{},
		"checkpoint-stats":    api.CheckpointStatsResult{},
		"purge-checkpoints":   api.PurgeCheckpointsResult{},
		"list-filters":        api.FiltersResult{},
		"trust-filters":       api.FiltersResult{},
		"distrust-filters":    api.FiltersResult{},
		"set-agent-state":     api.SetAgentStateResult{},
		"agent-report":        api.SetAgentStateResult{},
		"get-agent-state":     api.GetAgentStateResult{},

		"conversation-call":     api.ConversationCallResult{},
		"conversation-calling":  api.ConversationCallingResult{},
		"conversation-seen":     struct{}{},
		"conversation-figures":  struct{}{},
		"conversation-settled":  api.ConversationSettledResult{},
		"conversation-prompted": struct{}{},
		"conversation-list":     api.ConversationListResult{},
		"conversation-show":     api.ConversationShowResult{},
		"conversation-export":   api.ConversationShowResult{},
		"conversation-stats":    api.ConversationStatsResult{},
		"conversation-abandon":  api.ConversationAbandonResult{},
		"conversation-purge":    api.ConversationPurgeResult{},

		"list-windows": api.ListWindowsResult{},
		"status":       api.StatusResult{},
		"list-verbs":   api.ListVerbsResult{},
		"stop-daemon":  api.StopDaemonResult{},
	}
}

// TestEveryVerbIsTold holds docs/json.md against the table of the daemon: grant,
// parameters, results and errors of each verb.
func TestEveryVerbIsTold(t *testing.T) {
	t.Parallel()
	p := read(t, jsonMD)
	place := fields(api.Place{})
	target := p.section("## Target")
	for _, name := range place {
		if !has(target, name) {
			t.Errorf("%s: the target's parameter %s is not told of", p.name, name)
		}
	}
	verbs := listVerbs(t)
	for _, v := range verbs {
		text := p.section("### " + v.Name)
		if text == "" {
			t.Errorf("%s has no section on %s", p.name, v.Name)
			continue
		}
		if v.Grant != "" && !strings.Contains(text, "Grant `"+v.Grant+"`.") || v.Grant == "" && !strings.Contains(text, "No grant.") {
			t.Errorf("%s, %s: the grant is %q", p.name, v.Name, v.Grant)
		}
		for _, param := range v.Params {
			told := hasRow(text, param.Name)
			if slices.Contains(place, param.Name) {
				told = told || strings.Contains(text, "[target](#target)")
			}
			if !told {
				t.Errorf("%s, %s: the parameter %s is not told of", p.name, v.Name, param.Name)
			}
		}
		for _, e := range v.Errors {
			if !has(text, e) {
				t.Errorf("%s, %s: the error %s is not told of", p.name, v.Name, e)
			}
		}
		checkResult(t, p, v.Name, text)
	}
	for name := range results() {
		if !slices.ContainsFunc(verbs, func(v api.VerbInfo) bool { return v.Name == name }) {
			t.Errorf("there is no verb %s any more", name)
		}
	}
}

// hasRow says whether a table in text has a row for name.
func hasRow(text, name string) bool {
	return regexp.MustCompile("(?m)^\\| [^|]*`" + name + "`").MatchString(text)
}

// checkResult looks for the fields of a verb's result in its section, or in that
// of the object that the section names.
func checkResult(t *testing.T, p page, verb, text string) {
	t.Helper()
	result, known := results()[verb]
	switch {
	case !known:
		t.Errorf("the result of %s is not held against %s", verb, p.name)
		return
	case strings.Contains(text, "[restore](#restore)"):
		text = p.section("### Restore")
	case strings.Contains(text, "[set-agent-state](#set-agent-state)"):
		text = p.section("### set-agent-state")
	}
	for _, name := range fields(result) {
		if !has(text, name) {
			t.Errorf("%s, %s: the result's field %s is not told of", p.name, verb, name)
		}
	}
}

// TestSharedObjectsAreTold is the same for the objects that results hold.
func TestSharedObjectsAreTold(t *testing.T) {
	t.Parallel()
	p := read(t, jsonMD)
	for heading, values := range map[string][]any{
		"### Checkpoint":             {api.Checkpoint{}, api.Base{}},
		"### Left-out":               {api.LeftOut{}},
		"### verify-checkpoints":     {api.VerifyFinding{}},
		"### Caller":                 {api.ConversationCaller{}},
		"### Conversation":           {api.ConversationSession{}, api.ConversationCheckpoint{}, api.ConversationTokens{}},
		"### conversation-seen":      {api.ConversationOpenCall{}},
		"### conversation-show":      {api.ConversationNode{}},
		"### list-filters":           {api.Filter{}, api.FilterDriver{}},
		"### File of a diff":         {api.FileDiff{}},
		"### Restore":                {api.RestoreResult{}, api.ConversationBack{}},
		"### list-checkpoints":       {api.NotSaved{}},
		"### show-checkpoint":        {api.Kept{}, api.KeptItem{}, api.TurnID{}},
		"### drop-checkpoints":       {api.DroppedCheckpoint{}},
		"### checkpoint-stats":       {api.PaneStats{}},
		"### purge-checkpoints":      {api.PurgedCheckpoint{}, api.StillReachable{}},
		"### list-windows":           {api.WindowInfo{}},
		"### list-verbs":             {api.VerbInfo{}, api.Field{}},
		"### status":                 {api.GitInfo{}},
		"## Errors":                  {api.Hint{}, api.Error{}},
		"## Events":                  {api.Event{}},
		"## HTTP over the socket":    {api.Line{}, api.Progress{}},
		"## Commands without a verb": {},
	} {
		text := p.section(heading)
		if text == "" {
			t.Errorf("%s has no section %q", p.name, heading)
		}
		for _, v := range values {
			for _, name := range fields(v) {
				if !has(text, name) && !strings.Contains(text, `"`+name+`"`) {
					t.Errorf("%s, %q: the field %s of %T is not told of", p.name, heading, name, v)
				}
			}
		}
	}
}

// fields lists the names that a value's fields have in JSON.
func fields(v any) []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// TestExamplesOfJSONAreTaken decodes every example of a call in the pages, and
// every JSON value in docs/json.md.
func TestExamplesOfJSONAreTaken(t *testing.T) {
	t.Parallel()
	params := map[string][]string{}
	for _, v := range listVerbs(t) {
		for _, f := range v.Params {
			params[v.Name] = append(params[v.Name], f.Name)
		}
	}
	calls := 0
	for _, p := range pages(t) {
		for _, words := range told(p) {
			if len(words) != 3 || words[0] != "call" || !strings.HasPrefix(words[2], "{") {
				continue
			}
			calls++
			var object map[string]any
			if err := json.Unmarshal([]byte(words[2]), &object); err != nil {
				t.Errorf("%s, call %s: %v in %s", p.name, words[1], err, words[2])
			}
			for name := range object {
				if !slices.Contains(params[words[1]], name) {
					t.Errorf("%s: %s takes no parameter %s", p.name, words[1], name)
				}
			}
		}
	}
	values := 0
	blocks, _ := read(t, jsonMD).blocks()
	for _, b := range blocks {
		if b.kind != "json" {
			continue
		}
		values++
		if !json.Valid([]byte(b.text)) {
			t.Errorf("%s: not JSON:\n%s", jsonMD, b.text)
		}
	}
	if calls < 5 || values < 4 {
		t.Errorf("only %d calls and %d values were found", calls, values)
	}
}
