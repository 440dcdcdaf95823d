// Package config reads turnback's settings: the TOML file, its defaults, the
// checks of its values, and the watch on it.
package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// maxFile bounds the file's size in bytes: far more than anybody writes.
const maxFile = 1 << 20

// Config is every setting.
type Config struct {
	Git          string       `toml:"git"` // absolute path of the git program; empty: found in PATH
	Agents       Agents       `toml:"agents"`
	Conversation Conversation `toml:"conversation"`
	Agent        Agent        `toml:"agent"`
}

// Agent is the table [agent]: our own.
type Agent struct {
	Model     string              `toml:"model"`     // PROVIDER/NAME; empty: --model says it
	Window    int                 `toml:"window"`    // tokens that the model can be given; 0: as is known of it
	Endpoints map[string]Endpoint `toml:"endpoints"` // by the PROVIDER of a model; they speak Chat Completions
}

// Endpoint is a table [agent.endpoints.NAME].
type Endpoint struct {
	URL    string `toml:"url"`     // base URL, with the version at its end
	KeyEnv string `toml:"key_env"` // the environment variable with its key; empty: it needs none
}

// Conversation is the table [conversation].
type Conversation struct {
	Checkpoint  ConversationCheckpoint `toml:"checkpoint"`
	Proxy       Proxy                  `toml:"proxy"`
	Transcripts Transcripts            `toml:"transcripts"`
}

// Transcripts is the table [conversation.transcripts]: copies of the transcripts
// of other agents that checkpoints are linked with. 1 MB is 1,000,000 bytes.
type Transcripts struct {
	Keep       bool  `toml:"keep"`         // false keeps none, and drops those that there are
	MaxMB      int64 `toml:"max_mb"`       // of one copy, which has the beginning then; negative: no limit
	MaxTotalMB int64 `toml:"max_total_mb"` // of all; the ones of sessions that are quiet longest go; negative: no limit
	MaxDays    int   `toml:"max_days"`     // since the session's last turn that was saved
}

// ConversationCheckpoint is the table [conversation.checkpoint].
type ConversationCheckpoint struct {
	Enabled     bool `toml:"enabled"`       // the tools checkpoint and rewind are offered
	KeepOnAbort bool `toml:"keep_on_abort"` // in our own agent a checkpoint stays open over a turn that is aborted
}

// Proxy is the table [conversation.proxy]: base URLs that stand in for those
// that an agent would use; empty: the agent's own.
type Proxy struct {
	Anthropic string `toml:"anthropic"`
	OpenAI    string `toml:"openai"`
	Gemini    string `toml:"gemini"`
}

// Agents is the table [agents].
type Agents struct {
	Checkpoints Checkpoints `toml:"checkpoints"`
}

// Checkpoints is the table [agents.checkpoints].
type Checkpoints struct {
	Enabled           bool  `toml:"enabled"`              // false takes no checkpoints
	Keep              int   `toml:"keep"`                 // turns per pane, 1 to 1000
	MaxUntrackedMB    int64 `toml:"max_untracked_mb"`     // a larger untracked file is left out (1 MB = 1,000,000 bytes); negative: no limit
	MaxNewUntrackedMB int64 `toml:"max_new_untracked_mb"` // new untracked bytes in one save; negative: no limit
	AtTurnStart       bool  `toml:"at_turn_start"`        // also save what changed between two turns
	GoneDays          int   `toml:"gone_days"`            // a pane gone for so long keeps only its newest turn
	AllowHome         bool  `toml:"allow_home"`           // a work tree at $HOME or / is allowed
}

// Default is what holds without a file.
func Default() Config {
	return Config{Agents: Agents{Checkpoints: Checkpoints{
		Enabled:           true,
		Keep:              50,
		MaxUntrackedMB:    50,
		MaxNewUntrackedMB: 500,
		AtTurnStart:       true,
		GoneDays:          30,
	}}, Conversation: Conversation{Transcripts: Transcripts{
		Keep:       true,
		MaxMB:      50,
		MaxTotalMB: 1000,
		MaxDays:    30,
	}}}
}

// Problem is one thing wrong with a file.
type Problem struct {
	Line       int      `json:"line,omitempty"` // from 1; 0: not known
	Key        string   `json:"key,omitempty"`  // agents.checkpoints.keep
	Text       string   `json:"text"`           // what is wrong, lower case, without line and key
	Accepted   []string `json:"accepted,omitempty"`
	DidYouMean string   `json:"did_you_mean,omitempty"`
}

// String is the problem as one line.
func (p Problem) String() string {
	var b strings.Builder
	if p.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", p.Line)
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Text)
	if p.DidYouMean != "" {
		fmt.Fprintf(&b, ", did you mean %s?", p.DidYouMean)
	}
	return b.String()
}

// Error says that a file cannot be used, with all that is wrong with it.
type Error struct {
	Path     string
	Problems []Problem // at least one
}

// Error names the file and its problems, on one line.
func (e *Error) Error() string {
	all := make([]string, 0, len(e.Problems))
	for _, p := range e.Problems {
		all = append(all, p.String())
	}
	return e.Path + ": " + strings.Join(all, "; ")
}

// Path is where the file is, also when it is absent:
// $XDG_CONFIG_HOME/turnback/config.toml, else ~/.config/turnback/config.toml.
// As XDG wants it, a relative XDG_CONFIG_HOME is passed over.
func Path(getenv func(string) string) (string, error) {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("find the config file: neither XDG_CONFIG_HOME nor HOME is an absolute path")
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "turnback", "config.toml"), nil
}

// Load reads the file. One that is absent gives the defaults; one that cannot be
// used gives an *Error that lists everything wrong with it.
func Load(path string) (Config, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Default(), nil
	}
	if err != nil {
		return Config{}, &Error{Path: path, Problems: []Problem{{Text: err.Error()}}}
	}
	c, problems := Parse(data)
	if len(problems) > 0 {
		return Config{}, &Error{Path: path, Problems: problems}
	}
	return c, nil
}

// read refuses what is no plain file before it is opened: a FIFO would hang.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plain(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is no regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, plain(err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("is larger than %d bytes", maxFile)
	}
	return data, nil
}

// plain takes the path off, since whoever shows the problem names it.
func plain(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return fmt.Errorf("%s: %w", pathErr.Op, pathErr.Err)
	}
	return err
}

// Parse reads settings from the text of a file. With problems the Config is of
// no use.
func Parse(data []byte) (Config, []Problem) {
	c := Default()
	dec := toml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		return c, explain(err)
	}
	return c, c.check()
}

func (c Config) check() []Problem {
	var out []Problem
	bad := func(key, format string, args ...any) {
		out = append(out, Problem{Key: key, Text: fmt.Sprintf(format, args...), Accepted: []string{accepted(key)}})
	}
	if c.Git != "" && !filepath.IsAbs(c.Git) {
		bad("git", "%q is not an absolute path", c.Git)
	}
	cp := c.Agents.Checkpoints
	if cp.Keep < 1 || cp.Keep > 1000 {
		bad("agents.checkpoints.keep", "%d is not within 1 to 1000", cp.Keep)
	}
	if cp.GoneDays < 1 || cp.GoneDays > 36500 {
		bad("agents.checkpoints.gone_days", "%d is not within 1 to 36500", cp.GoneDays)
	}
	for key, mb := range map[string]int64{"max_new_untracked_mb": cp.MaxNewUntrackedMB, "max_untracked_mb": cp.MaxUntrackedMB} {
		if mb > maxMB {
			bad("agents.checkpoints."+key, "%d is too large", mb)
		}
	}
	kept := c.Conversation.Transcripts
	if kept.MaxDays < 1 || kept.MaxDays > 36500 {
		bad("conversation.transcripts.max_days", "%d is not within 1 to 36500", kept.MaxDays)
	}
	for key, mb := range map[string]int64{"max_mb": kept.MaxMB, "max_total_mb": kept.MaxTotalMB} {
		if mb == 0 || mb > maxMB {
			bad("conversation.transcripts."+key, "%d is not within 1 to %d", mb, int64(maxMB))
		}
	}
	proxy := c.Conversation.Proxy
	for key, base := range map[string]string{"anthropic": proxy.Anthropic, "gemini": proxy.Gemini, "openai": proxy.OpenAI} {
		if base != "" && !isBaseURL(base) {
			bad("conversation.proxy."+key, "%q is no base URL", base)
		}
	}
	out = append(out, c.Agent.check()...)
	return out
}

func (a Agent) check() []Problem {
	var out []Problem
	bad := func(key, accepts, format string, args ...any) {
		out = append(out, Problem{Key: key, Text: fmt.Sprintf(format, args...), Accepted: []string{accepts}})
	}
	if provider, name, ok := strings.Cut(a.Model, "/"); a.Model != "" && (!ok || provider == "" || name == "") {
		bad("agent.model", "PROVIDER/NAME", "%q names no provider", a.Model)
	}
	if a.Window < 0 {
		bad("agent.window", "0 or more", "%d is less than 0", a.Window)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Endpoints)) {
		if e := a.Endpoints[name]; !isBaseURL(e.URL) {
			bad("agent.endpoints."+name+".url", "a base URL, https:// or http://", "%q is no base URL", e.URL)
		}
	}
	return out
}

// isBaseURL takes what requests can be sent below: no password, which would be
// shown with the URL, and nothing after the path.
func isBaseURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// accepted is what a key takes beyond its kind; empty: all of that.
func accepted(key string) string {
	switch key {
	case "git":
		return "an absolute path"
	case "agents.checkpoints.keep":
		return "1 to 1000"
	case "agents.checkpoints.gone_days", "conversation.transcripts.max_days":
		return "1 to 36500"
	case "agents.checkpoints.max_untracked_mb", "agents.checkpoints.max_new_untracked_mb":
		return "up to 1000000000, or a negative number for no limit"
	case "conversation.transcripts.max_mb", "conversation.transcripts.max_total_mb":
		return "1 to 1000000000, or a negative number for no limit"
	case "conversation.proxy.anthropic", "conversation.proxy.gemini", "conversation.proxy.openai":
		return "http:// or https:// with a host, and a path if need be"
	}
	return ""
}

// maxMB keeps a limit in bytes within 64 bits.
const maxMB = 1_000_000_000
