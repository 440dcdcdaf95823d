package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/daemon"
	"github.com/turnback/turnback/internal/testutil/gittest"
	"github.com/turnback/turnback/internal/verbs"
)

// newWired prepares a daemon with the real rooms and a repository with one file.
func newWired(t *testing.T) (*server, *gittest.Repo) {
	t.Helper()
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"})
	s := newServer(t)
	s.options.Build = nil
	s.options.Environ = repo.Env()
	return s, repo
}

// report sets a window's state.
func (s *server) report(repo *gittest.Repo, state, prompt string) api.SetAgentStateResult {
	s.t.Helper()
	place := api.Place{Dir: repo.Root, Session: "api", Window: "build"}
	var r api.SetAgentStateResult
	err := s.client.Call(s.t.Context(), "set-agent-state", api.SetAgentStateParams{Place: place, State: state, Prompt: prompt}, &r, nil)
	if err != nil {
		s.t.Fatalf("set-agent-state %s: %v", state, err)
	}
	return r
}

// turn is a whole turn that changes a file.
func (s *server) turn(repo *gittest.Repo, prompt, path, text string) api.SetAgentStateResult {
	s.t.Helper()
	s.report(repo, "working", prompt)
	repo.Write(path, text)
	return s.report(repo, "done", "")
}

func (s *server) list(repo *gittest.Repo) api.ListCheckpointsResult {
	s.t.Helper()
	var r api.ListCheckpointsResult
	params := api.ListCheckpointsParams{Place: api.Place{Dir: repo.Root, Window: "build"}}
	if err := s.client.Call(s.t.Context(), "list-checkpoints", params, &r, nil); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func TestWiredTurnIsSavedListedAndTakenBack(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	events := s.subscribe()
	before := repo.Fingerprint()
	saved := s.turn(repo, "Add a retry", "a.txt", "two\n")
	if saved.Checkpoint == nil || saved.Checkpoint.N != 1 || saved.Checkpoint.Label != "Add a retry" {
		t.Fatalf("the turn was not saved: %+v", saved)
	}
	var seen []string
	for !slices.Contains(seen, "checkpoint_saved") {
		e := events.next()
		seen = append(seen, e.Type)
		if e.Type == "checkpoint_saved" && (e.Checkpoint == nil || e.Checkpoint.N != 1 || e.Worktree != repo.Root) {
			t.Errorf("event %+v", e)
		}
	}
	if list := s.list(repo); len(list.Checkpoints) != 1 || !list.Enabled || list.Session != "api" {
		t.Errorf("list %+v", list)
	}
	var undone api.RestoreResult
	undo := api.UndoParams{Place: api.Place{Dir: repo.Root, Window: "build"}}
	if err := s.client.Call(t.Context(), "undo", undo, &undone, func(api.Progress) {}); err != nil {
		t.Fatal(err)
	}
	if repo.Read("a.txt") != "one\n" || !slices.Equal(undone.Written, []string{"a.txt"}) {
		t.Errorf("after undo a.txt holds %q; %+v", repo.Read("a.txt"), undone)
	}
	if e := events.next(); e.Type != "restored" && e.Type != "checkpoint_saved" {
		t.Errorf("event %+v after undo", e)
	}
	after := repo.Fingerprint()
	if fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("the user's repository changed:\n%v\n%v", before, after)
	}
	status := s.status()
	if status.Windows != 1 || status.OpenTurns != 0 || !filepath.IsAbs(status.Git.Path) || status.Git.Version == "" || status.Git.Error != "" {
		t.Errorf("status %+v", status)
	}
}

func TestWiredStopSavesWhatIsMidTurn(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	s.report(repo, "working", "Add a retry")
	repo.Write("a.txt", "half\n")
	s.end()
	s.wait(nil)

	next, _ := newWired(t)
	next.options.Environ = repo.Env()
	next.start()
	list := next.list(repo)
	if len(list.Checkpoints) != 1 || list.Checkpoints[0].State != "unknown" || list.Checkpoints[0].Label != "Add a retry" {
		t.Errorf("the next daemon, with a state folder of its own, lists %+v", list.Checkpoints)
	}
}

func TestWiredConfigIsLive(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	writeFile(t, s.options.ConfigPath, "[agents.checkpoints]\nenabled = false\n")
	if r := s.turn(repo, "Add a retry", "a.txt", "two\n"); r.Checkpoint != nil {
		t.Errorf("switched off, but saved: %+v", r.Checkpoint)
	}
	if list := s.list(repo); list.Enabled {
		t.Error("the list does not tell that checkpoints are off")
	}
	writeFile(t, s.options.ConfigPath, "[agents.checkpoints]\nmax_untracked_mb = 0\n")
	repo.Write("big.bin", "x")
	r := s.turn(repo, "Add more", "a.txt", "three\n")
	if r.Checkpoint == nil || r.Checkpoint.LeftOutCount != 1 || r.Checkpoint.LeftOut[0].Path != "big.bin" {
		t.Errorf("the new limit does not hold: %+v", r.Checkpoint)
	}
}

// A repository that is removed and made anew in the same place is another one:
// nothing that was known of the old one may be believed.
func TestWiredRepositoryThatIsMadeAnew(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	s.turn(repo, "Add a retry", "a.txt", "two\n")
	if err := os.RemoveAll(repo.Path(".git")); err != nil {
		t.Fatal(err)
	}
	repo.Git("init", "--quiet")
	repo.Git("add", ".")
	repo.Commit("anew")
	r := s.turn(repo, "Again", "b.txt", "new\n")
	if r.Checkpoint == nil {
		t.Fatalf("the turn was not saved: %+v", r)
	}
	if said, err := repo.TryGit("fsck", "--strict", "--connectivity-only"); err != nil {
		t.Errorf("git fsck: %v: %s", err, said)
	}
	if got := repo.Git("show", r.Checkpoint.Commit+":a.txt"); strings.TrimSpace(got) != "two" {
		t.Errorf("a.txt in the checkpoint holds %q", got)
	}
}

func TestWiredWithoutGit(t *testing.T) {
	s, repo := newWired(t)
	empty := t.TempDir()
	s.options.Environ = append(repo.Env(), "PATH="+empty)
	s.start()
	if g := s.status().Git; g.Path != "" || !contains(g.Error, "git not found") {
		t.Errorf("git %+v", g)
	}
	err := s.client.Call(t.Context(), "list-checkpoints", api.Place{Dir: repo.Root}, nil, nil)
	if e := api.AsError(err); err == nil || e.Code == api.CodeInternal {
		t.Errorf("list-checkpoints: %v (%s)", err, e.Code)
	}
	// Once it is installed it is found, without a restart.
	if err := os.Symlink(lookGit(t), filepath.Join(empty, "git")); err != nil {
		t.Fatal(err)
	}
	if g := s.status().Git; g.Error != "" {
		t.Errorf("git %+v after it was installed", g)
	}
}

func lookGit(t *testing.T) string {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if path := filepath.Join(dir, "git"); filepath.IsAbs(dir) {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	t.Fatal("no git in PATH")
	return ""
}

func TestWiredDirectoryThatIsNoRepository(t *testing.T) {
	s, _ := newWired(t)
	s.start()
	dir := t.TempDir()
	place := api.Place{Dir: dir, Session: "s", Window: "w"}
	var r api.SetAgentStateResult
	if err := s.client.Call(t.Context(), "set-agent-state", api.SetAgentStateParams{Place: place, State: "working"}, &r, nil); err != nil {
		t.Fatal(err)
	}
	err := s.client.Call(t.Context(), "save-checkpoint", api.SaveCheckpointParams{Place: place}, nil, nil)
	if e := api.AsError(err); err == nil || e.Code != api.CodeNotRepo {
		t.Errorf("save-checkpoint: %v, want not_repo", err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made there: %v", err)
	}
}

func TestWiredVerbsHaveTheGrantsOfTheContract(t *testing.T) {
	s, _ := newWired(t)
	s.start()
	var list api.ListVerbsResult
	if err := s.client.Call(t.Context(), "list-verbs", nil, &list, nil); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, v := range list.Verbs {
		got[v.Grant] = append(got[v.Grant], v.Name)
	}
	want := map[string][]string{
		verbs.GrantOwn: {
			"agent-report", "conversation-call", "conversation-calling", "conversation-figures", "conversation-prompted",
			"conversation-seen", "conversation-settled", "set-agent-state",
		},
		verbs.GrantRead: {
			"checkpoint-diff", "checkpoint-stats", "conversation-export", "conversation-list", "conversation-show", "conversation-stats", "get-agent-state", "list-checkpoints", "list-filters", "list-verbs", "list-windows",
			"show-checkpoint", "status", "verify-checkpoints",
		},
		verbs.GrantWrite: {
			"abort-restore", "branch-checkpoint", "continue-restore", "conversation-abandon", "drop-checkpoints", "redo", "restore-checkpoint", "revert-checkpoint",
			"save-checkpoint", "undo", "untrash-checkpoints",
		},
		verbs.GrantAdmin: {"conversation-purge", "distrust-filters", "mend-checkpoints", "prune-checkpoints", "purge-checkpoints", "stop-daemon", "trust-filters"},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("grants\n got %v\nwant %v", got, want)
	}
}

func localCall(t *testing.T, repo *gittest.Repo, verb string, params, result any) error {
	t.Helper()
	table, err := daemon.Local(repo.Env(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	value, err := table.Run(t.Context(), verb, data, nil)
	if err != nil || result == nil {
		return err
	}
	if data, err = json.Marshal(value); err != nil {
		t.Fatal(err)
	}
	return json.Unmarshal(data, result)
}

func TestLocalVerbsSeeWhatADaemonLeft(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	s.turn(repo, "Add a retry", "a.txt", "two\n")
	s.end()
	s.wait(nil)
	place := api.Place{Dir: repo.Root, Window: "build"}
	var list api.ListCheckpointsResult
	if err := localCall(t, repo, "list-checkpoints", api.ListCheckpointsParams{Place: place}, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Checkpoints) != 1 || list.Session != "api" || list.Window != "build" {
		t.Errorf("list %+v", list)
	}
	if err := localCall(t, repo, "undo", api.UndoParams{Place: place}, nil); err != nil {
		t.Fatal(err)
	}
	if got := repo.Read("a.txt"); got != "one\n" {
		t.Errorf("a.txt holds %q", got)
	}
	if err := localCall(t, repo, "redo", api.UndoParams{Place: api.Place{Dir: repo.Root}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := repo.Read("a.txt"); got != "two\n" {
		t.Errorf("a.txt holds %q", got)
	}
}

// TestLocalSavesDoNotPileUpPacks has a person who never has a daemon save often.
func TestLocalSavesDoNotPileUpPacks(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"})
	save := func(i int) {
		repo.Write("a.txt", fmt.Sprintf("%d\n", i))
		if err := localCall(t, repo, "save-checkpoint", api.SaveCheckpointParams{Place: api.Place{Dir: repo.Root}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	count := func(end string) int {
		list, err := filepath.Glob(repo.Path(".git/objects/pack/*." + end))
		if err != nil {
			t.Fatal(err)
		}
		long := time.Now().Add(-time.Hour)
		for _, file := range list {
			if err := os.Chtimes(file, long, long); err != nil {
				t.Fatal(err)
			}
		}
		return len(list)
	}
	for i := range 9 {
		save(i)
	}
	if n := count("keep"); n < 9 {
		t.Fatalf("%d kept packs: young ones were joined", n)
	}
	save(9)
	if n := count("pack"); n > 2 {
		t.Errorf("%d packs after ten saves", n)
	}
	repo.Git("fsck", "--connectivity-only")
}

// A daemon and a command without one see each other's windows by the records in
// the repository: no restore while an agent works.
func TestLocalRestoreIsRefusedWhileAnAgentWorks(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	s.turn(repo, "Add a retry", "a.txt", "two\n")
	s.report(repo, "working", "Add more")
	params := api.RestoreCheckpointParams{Place: api.Place{Dir: repo.Root, Window: "build"}, N: 1}
	repo.Write("a.txt", "three\n")
	err := localCall(t, repo, "restore-checkpoint", params, nil)
	if e := api.AsError(err); err == nil || e.Code != api.CodeNotReady {
		t.Fatalf("restore: %v, want not_ready", err)
	}
	if got := repo.Read("a.txt"); got != "three\n" {
		t.Errorf("a refusal changed a.txt to %q", got)
	}
	params.Force = true
	if err := localCall(t, repo, "restore-checkpoint", params, nil); err != nil {
		t.Fatal(err)
	}
	if got := repo.Read("a.txt"); got != "two\n" {
		t.Errorf("a.txt holds %q", got)
	}
}

// The turn of an agent that died without a word is over.
func TestLocalRestoreIsNotHeldUpByADeadAgent(t *testing.T) {
	s, repo := newWired(t)
	s.start()
	report := api.AgentReport{
		Place: api.Place{Dir: repo.Root}, Agent: "claude", Event: "UserPromptSubmit", Kind: api.ReportPrompt,
		SessionID: "s1", PromptID: "p1", Prompt: "Add a retry", AgentPID: 1 << 29, AgentStarted: "boot:1",
	}
	if err := s.client.Call(t.Context(), "agent-report", report, nil, nil); err != nil {
		t.Fatal(err)
	}
	repo.Write("a.txt", "two\n")
	var saved api.SaveCheckpointResult
	if err := localCall(t, repo, "save-checkpoint", api.SaveCheckpointParams{Place: api.Place{Dir: repo.Root}, Label: "now"}, &saved); err != nil {
		t.Fatal(err)
	}
	repo.Write("a.txt", "three\n")
	params := api.RestoreCheckpointParams{Place: api.Place{Dir: repo.Root}, N: saved.Checkpoint.N}
	if err := localCall(t, repo, "restore-checkpoint", params, nil); err != nil {
		t.Fatal(err)
	}
}

func TestLocalSaveMakesAWindow(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"})
	repo.Write("a.txt", "two\n")
	var first, second api.SaveCheckpointResult
	params := api.SaveCheckpointParams{Place: api.Place{Dir: repo.Root}, Label: "before"}
	if err := localCall(t, repo, "save-checkpoint", params, &first); err != nil {
		t.Fatal(err)
	}
	if first.Window != "manual" || first.Session != filepath.Base(repo.Root) || first.Checkpoint.N != 1 {
		t.Errorf("saved %+v", first)
	}
	if err := localCall(t, repo, "save-checkpoint", params, &second); err != nil {
		t.Fatal(err)
	}
	if second.Pane.Pane != first.Pane.Pane || second.Checkpoint.N != 2 {
		t.Errorf("saved again %+v, first %+v", second, first)
	}
	// A daemon that comes later finds the same window.
	s, _ := newWired(t)
	s.options.Environ = repo.Env()
	s.start()
	var list api.ListCheckpointsResult
	if err := s.client.Call(t.Context(), "list-checkpoints", api.ListCheckpointsParams{Place: api.Place{Dir: repo.Root}}, &list, nil); err != nil {
		t.Fatal(err)
	}
	if list.Pane.Pane != first.Pane.Pane || len(list.Checkpoints) != 2 {
		t.Errorf("the daemon lists %+v", list)
	}
}

func TestLocalOutsideOfARepository(t *testing.T) {
	repo := gittest.NewCommitted(t, map[string]string{"a.txt": "one\n"})
	for _, verb := range []string{"list-checkpoints", "save-checkpoint", "undo"} {
		err := localCall(t, repo, verb, map[string]string{"dir": t.TempDir()}, nil)
		if e := api.AsError(err); err == nil || e.Code != api.CodeNotRepo {
			t.Errorf("%s: %v, want not_repo", verb, err)
		}
	}
}

// A command with hardly any environment still restores.
func TestLocalWithoutHome(t *testing.T) {
	table, err := daemon.Local([]string{"PATH=" + os.Getenv("PATH")}, time.Now)
	if err != nil || !slices.Contains(table.Names(), "restore-checkpoint") {
		t.Errorf("table %v, error %v", table, err)
	}
}

// What checkpoints are taken of is asked of the config at each use.
func TestWiredHomeIsRefusedUnlessAllowed(t *testing.T) {
	s, repo := newWired(t)
	s.options.Environ = append(repo.Env(), "HOME="+repo.Root)
	s.start()
	if r := s.turn(repo, "Add a retry", "a.txt", "two\n"); r.Checkpoint != nil {
		t.Errorf("a home was saved: %+v", r.Checkpoint)
	}
	writeFile(t, s.options.ConfigPath, "[agents.checkpoints]\nallow_home = true\n")
	if r := s.turn(repo, "Add more", "a.txt", "three\n"); r.Checkpoint == nil {
		t.Errorf("a home that is allowed was not saved: %+v", r)
	}
	writeFile(t, s.options.ConfigPath, "[agents.checkpoints]\nallow_home = false\n")
	if r := s.turn(repo, "Add again", "a.txt", "four\n"); r.Checkpoint != nil {
		t.Errorf("a home that is not allowed any more was saved: %+v", r.Checkpoint)
	}
}

func TestFromEnviron(t *testing.T) {
	dir := t.TempDir()
	environ := []string{"HOME=/nowhere", "HOME=" + dir, "TURNBACK_SOCKET=" + dir + "/s"}
	o, err := daemon.FromEnviron(environ, os.Getuid(), "1", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if o.Socket.Path != dir+"/s" || o.StateDir != dir+"/.local/state/turnback" || o.ConfigPath != dir+"/.config/turnback/config.toml" {
		t.Errorf("options %+v", o)
	}
	if _, err := daemon.FromEnviron(nil, os.Getuid(), "1", time.Now); err == nil {
		t.Error("without HOME: no error")
	}
}
