package claude

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/agents/jsontext"
)

// hookTimeout is how many seconds the agent waits for a hook at most. Hooks keep
// to 3 by themselves; the rest is for a machine under load.
const hookTimeout = 10

// program is the name under which turnback is installed.
const program = "turnback"

// ErrSettings is in the chain of every error about a settings file whose text
// is not as it has to be. The file is then left alone.
var ErrSettings = errors.New("cannot be used as settings")

// events are the hooks that are installed: the fewest from which turns, tools
// that write, and questions can be told. PostToolUse is what says that a
// question was answered.
func events() []string {
	return []string{
		"SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
		"PermissionRequest", "Notification", "Stop", "StopFailure",
	}
}

// hookGroup is an element of an event's list in the settings.
type hookGroup struct {
	Hooks []hookEntry `json:"hooks"`
}

type hookEntry struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	Timeout int      `json:"timeout"`
}

func entryFor(command, event string) hookEntry {
	return hookEntry{Type: "command", Command: command, Args: []string{"hook", Name, event}, Timeout: hookTimeout}
}

// OwnHook is an entry in a settings text that runs turnback.
type OwnHook struct {
	Event   string
	Command string // the program's path
	Exec    bool   // in the form that is installed: the program and its arguments apart
}

// Install returns the settings text with turnback's hooks in it, run by the
// program at the absolute path command. An empty text stands for a file that
// does not exist. Hooks that are there already are kept as they are but for the
// program's path. Nothing else changes, the layout included.
func Install(text []byte, command string) ([]byte, error) {
	if len(text) == 0 {
		text = []byte("{}\n")
	}
	e, err := openSettings(text, command)
	if err != nil {
		return nil, err
	}
	for _, event := range events() {
		if err := e.installEvent(event); err != nil {
			return nil, err
		}
	}
	return e.result(), nil
}

// Remove returns the settings text without turnback's hooks and the leave to use
// its tools, and without the groups, events and the list of hooks that are empty without them. command
// is the program that runs now; entries of a program that is called turnback
// count as well.
func Remove(text []byte, command string) ([]byte, error) {
	e, err := openSettings(text, command)
	if err != nil {
		return nil, err
	}
	for _, event := range e.hookEvents() {
		for e.removeFrom(event) {
		}
	}
	for _, tool := range allowed() {
		if err := e.forbid(tool); err != nil {
			return nil, err
		}
	}
	return e.result(), nil
}

// Hooks lists turnback's hooks in a settings text.
func Hooks(text []byte, command string) ([]OwnHook, error) {
	e, err := openSettings(text, command)
	if err != nil {
		return nil, err
	}
	var list []OwnHook
	for _, event := range e.hookEvents() {
		for _, o := range e.own(event) {
			list = append(list, OwnHook{Event: event, Command: o.command, Exec: o.exec})
		}
	}
	return list, nil
}

// HooksOff says that a settings text turns all hooks off.
func HooksOff(text []byte) bool {
	e, err := openSettings(text, "")
	if err != nil {
		return false
	}
	v, ok := e.root.Get("disableAllHooks")
	return ok && v.Kind == 't'
}

// settings is a settings text that is being changed.
type settings struct {
	mark    []byte // the byte order mark, if there is one
	text    []byte
	root    jsontext.Value
	style   jsontext.Style
	command string
}

func openSettings(text []byte, command string) (*settings, error) {
	s, err := openText(text, command)
	if err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return s, nil
}

// openText reads a text that is JSON, whatever it holds.
func openText(text []byte, command string) (*settings, error) {
	mark := []byte("\xEF\xBB\xBF")
	s := &settings{text: text, command: command}
	if bytes.HasPrefix(text, mark) {
		s.mark, s.text = mark, text[len(mark):]
	}
	root, err := jsontext.Parse(s.text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	s.root = root
	s.style = jsontext.StyleOf(s.text, root)
	return s, nil
}

// check looks at what the changes below rely on.
func (s *settings) check() error {
	hooks, ok := s.root.Get("hooks")
	repeated := s.root.Repeated()
	switch {
	case s.root.Kind != '{':
		return errors.New("the text is no object")
	case repeated != "":
		return fmt.Errorf("%q stands in it twice", repeated)
	case !ok:
		return nil
	case hooks.Kind != '{':
		return errors.New(`"hooks" is no object`)
	case hooks.Repeated() != "":
		return fmt.Errorf("the event %q stands in it twice", hooks.Repeated())
	}
	for _, m := range hooks.Members {
		if m.Value.Kind != '[' {
			return fmt.Errorf("the hooks of %q are no list", m.Key)
		}
	}
	return nil
}

func (s *settings) result() []byte { return slices.Concat(s.mark, s.text) }

// set takes over a changed text. The editor changes a text that parses into one
// that parses.
func (s *settings) set(text []byte) error {
	root, err := jsontext.Parse(text)
	if err != nil {
		return fmt.Errorf("check the changed settings: %w", err)
	}
	s.text, s.root = text, root
	return nil
}

func (s *settings) hookEvents() []string {
	hooks, _ := s.root.Get("hooks")
	var list []string
	for _, m := range hooks.Members {
		list = append(list, m.Key)
	}
	return list
}

func (s *settings) event(name string) (jsontext.Value, bool) {
	hooks, _ := s.root.Get("hooks")
	return hooks.Get(name)
}

// ownEntry is one of turnback's entries, with its place.
type ownEntry struct {
	group, place int // the group in the event's list, the entry in the group
	value        jsontext.Value
	command      string
	exec         bool
}

// own finds turnback's entries for an event.
func (s *settings) own(event string) []ownEntry {
	var list []ownEntry
	groups, _ := s.event(event)
	for g, group := range groups.Elements {
		entries, _ := group.Get("hooks")
		for i, entry := range entries.Elements {
			if command, exec, ok := s.isOwn(entry, event); ok {
				list = append(list, ownEntry{g, i, entry, command, exec})
			}
		}
	}
	return list
}

// isOwn knows an entry by its program and arguments: in the form that is
// installed, and as one line for a shell, as a person may have written it.
func (s *settings) isOwn(entry jsontext.Value, event string) (command string, exec, ok bool) {
	value, _ := entry.Get("command")
	command, isText := value.String(s.text)
	if !isText {
		return "", false, false
	}
	args, exec := entry.Get("args")
	if !exec {
		line, ok := strings.CutSuffix(strings.TrimSpace(command), " hook "+Name+" "+event)
		command = strings.Trim(strings.TrimSpace(line), `"'`)
		return command, false, ok && s.isProgram(command)
	}
	var words []string
	for _, a := range args.Elements {
		word, _ := a.String(s.text)
		words = append(words, word)
	}
	return command, true, slices.Equal(words, []string{"hook", Name, event}) && s.isProgram(command)
}

func (s *settings) isProgram(command string) bool {
	return filepath.IsAbs(command) && (filepath.Base(command) == program || command == s.command)
}

// installEvent sees to it that exactly one own entry stands in an event's list.
func (s *settings) installEvent(event string) error {
	own := s.own(event)
	if len(own) == 0 {
		return s.add(event)
	}
	for len(own) > 1 {
		if err := s.drop(event, own[len(own)-1]); err != nil {
			return err
		}
		own = s.own(event)
	}
	if own[0].exec && own[0].command == s.command {
		return nil
	}
	old, with := own[0].value, any(entryFor(s.command, event))
	if own[0].exec { // the timeout, or whatever a person set besides, stays
		old, _ = old.Get("command")
		with = s.command
	}
	text, err := jsontext.Replace(s.text, old, s.style, with)
	if err != nil {
		return err
	}
	return s.set(text)
}

// add appends a group with the own entry, and what it stands in where that is
// missing.
func (s *settings) add(event string) error {
	group := hookGroup{Hooks: []hookEntry{entryFor(s.command, event)}}
	container, key, value := s.root, "hooks", any(map[string][]hookGroup{event: {group}})
	if hooks, ok := s.root.Get("hooks"); ok {
		container, key, value = hooks, event, []hookGroup{group}
		if groups, ok := hooks.Get(event); ok {
			container, key, value = groups, "", group
		}
	}
	text, err := jsontext.Append(s.text, container, s.style, key, value)
	if err != nil {
		return err
	}
	return s.set(text)
}

// removeFrom drops one own entry of an event and says whether there was one.
func (s *settings) removeFrom(event string) bool {
	own := s.own(event)
	return len(own) > 0 && s.drop(event, own[len(own)-1]) == nil
}

// drop takes an own entry away, and what is empty without it.
func (s *settings) drop(event string, o ownEntry) error {
	hooks, _ := s.root.Get("hooks")
	groups, _ := hooks.Get(event)
	entries, _ := groups.Elements[o.group].Get("hooks")
	at := func(v jsontext.Value, key string) int {
		return slices.IndexFunc(v.Members, func(m jsontext.Member) bool { return m.Key == key })
	}
	switch {
	case entries.Len() > 1:
		return s.set(jsontext.Remove(s.text, entries, o.place))
	case groups.Len() > 1:
		return s.set(jsontext.Remove(s.text, groups, o.group))
	case hooks.Len() > 1:
		return s.set(jsontext.Remove(s.text, hooks, at(hooks, event)))
	default:
		return s.set(jsontext.Remove(s.text, s.root, at(s.root, "hooks")))
	}
}
