package claude

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/turnback/turnback/internal/agents/jsontext"
	"github.com/turnback/turnback/internal/agents/settingsfile"
)

// serverName is the name of the MCP server with the conversation's tools: it is
// part of the names that a model calls them by.
const serverName = "turnback"

// allowed are the permissions that the agent need not ask for: the two tools by
// name, and nothing else that any server of ours offers.
func allowed() []string { return []string{"mcp__turnback__checkpoint", "mcp__turnback__rewind"} }

// serverEntry is the MCP server as `claude mcp add-json` writes it.
type serverEntry struct {
	Type    string   `json:"type"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// Servers is the path of the file in which the agent keeps the person's MCP
// servers; env is their environment.
func Servers(env func(string) string) (string, error) {
	if dir := env("CLAUDE_CONFIG_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, ".claude.json"), nil
	}
	settings, err := UserSettings(env)
	if err != nil {
		return "", err
	}
	return filepath.Join(filepath.Dir(filepath.Dir(settings)), ".claude.json"), nil
}

// ServerSetup registers turnback's MCP server and takes it out.
type ServerSetup struct {
	File    settingsfile.File
	Command string // turnback's program, absolute
}

// PlanInstall says what ApplyInstall would make of the file.
func (s ServerSetup) PlanInstall() (settingsfile.Plan, error) {
	p, err := s.File.Open()
	if err != nil {
		return p, err
	}
	p.New, err = InstallServer(p.Old, s.Command)
	return p, s.explain(err)
}

// ApplyInstall makes the change of a plan by PlanInstall.
func (s ServerSetup) ApplyInstall(p settingsfile.Plan) error {
	if _, has, err := Server(p.Old, s.Command); err != nil || !has {
		if err := p.NoteOrigin(); err != nil {
			return err
		}
	}
	return p.Apply()
}

// PlanRemove says what is left of the file without the server: the very text from
// before when nothing else has changed since.
func (s ServerSetup) PlanRemove() (settingsfile.Plan, error) {
	p, err := s.File.Open()
	if err != nil || !p.Existed {
		return p, err
	}
	command, has, err := Server(p.Old, s.Command)
	if err != nil || !has {
		return p, s.explain(err)
	}
	origin, known := s.File.Origin()
	if known {
		if again, err := InstallServer(origin.Text, command); err == nil && bytes.Equal(again, p.Old) {
			p.New, p.Delete = origin.Text, !origin.Existed
			return p, nil
		}
	}
	if p.New, err = RemoveServer(p.Old, s.Command); err != nil {
		return p, s.explain(err)
	}
	p.Delete = known && !origin.Existed && isEmpty(p.New)
	return p, nil
}

// ApplyRemove makes the change of a plan by PlanRemove.
func (s ServerSetup) ApplyRemove(p settingsfile.Plan) error {
	if err := p.Apply(); err != nil {
		return err
	}
	return s.File.ForgetOrigin()
}

func (s ServerSetup) explain(err error) error {
	if !errors.Is(err, ErrSettings) {
		return err
	}
	return fmt.Errorf("%s %w", s.File.Path, err)
}

// InstallServer returns the text of the agent's file of MCP servers with
// turnback's in it. An empty text stands for a file that does not exist.
func InstallServer(text []byte, command string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	s, err := openServers(text, command)
	if err != nil {
		return nil, err
	}
	entry := serverEntry{Type: "stdio", Command: command, Args: []string{"mcp", "--conversation"}}
	servers, has := s.root.Get("mcpServers")
	old, registered := servers.Get(serverName)
	switch {
	case registered && s.isOwnServer(old):
		path, _ := old.Get("command")
		if now, _ := path.String(s.text); now == command {
			return text, nil
		}
		return s.finish(jsontext.Replace(s.text, path, s.style, command))
	case registered:
		return nil, fmt.Errorf("%w: another MCP server in it is called %q", ErrSettings, serverName)
	case has:
		return s.finish(jsontext.Append(s.text, servers, s.style, serverName, entry))
	}
	return s.finish(jsontext.Append(s.text, s.root, s.style, "mcpServers", map[string]serverEntry{serverName: entry}))
}

// RemoveServer returns the text without turnback's server, and without the list
// of servers that is empty without it.
func RemoveServer(text []byte, command string) ([]byte, error) {
	s, err := openServers(text, command)
	if err != nil {
		return nil, err
	}
	servers, _ := s.root.Get("mcpServers")
	entry, has := servers.Get(serverName)
	if !has || !s.isOwnServer(entry) {
		return text, nil
	}
	if servers.Len() > 1 {
		return s.finish(jsontext.Remove(s.text, servers, memberAt(servers, serverName)), nil)
	}
	return s.finish(jsontext.Remove(s.text, s.root, memberAt(s.root, "mcpServers")), nil)
}

// Server finds turnback's MCP server in a text, and the program that it runs.
func Server(text []byte, command string) (path string, has bool, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return "", false, nil
	}
	s, err := openServers(text, command)
	if err != nil {
		return "", false, err
	}
	servers, _ := s.root.Get("mcpServers")
	entry, _ := servers.Get(serverName)
	if !s.isOwnServer(entry) {
		return "", false, nil
	}
	program, _ := entry.Get("command")
	path, _ = program.String(s.text)
	return path, true, nil
}

// openServers reads a text in which the servers are an object.
func openServers(text []byte, command string) (*settings, error) {
	s, err := openText(text, command)
	if err != nil {
		return nil, err
	}
	servers, has := s.root.Get("mcpServers")
	switch {
	case s.root.Kind != '{':
		err = errors.New("the text is no object")
	case s.root.Repeated() != "":
		err = fmt.Errorf("%q stands in it twice", s.root.Repeated())
	case has && (servers.Kind != '{' || servers.Repeated() != ""):
		err = errors.New(`"mcpServers" is no object`)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSettings, err)
	}
	return s, nil
}

func (s *settings) isOwnServer(entry jsontext.Value) bool {
	value, _ := entry.Get("command")
	command, ok := value.String(s.text)
	args, _ := entry.Get("args")
	if !ok || len(args.Elements) == 0 {
		return false
	}
	first, _ := args.Elements[0].String(s.text)
	return first == "mcp" && s.isProgram(command)
}

// finish is the whole text with a change in it.
func (s *settings) finish(text []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	if err := s.set(text); err != nil {
		return nil, err
	}
	return s.result(), nil
}

func memberAt(v jsontext.Value, key string) int {
	return slices.IndexFunc(v.Members, func(m jsontext.Member) bool { return m.Key == key })
}

// InstallConversation is Install with the leave to call the two tools without
// asking. They need no further hook: a compaction is told by SessionStart, and a
// hook for PostCompact would have the agent show a line for it each time.
func InstallConversation(text []byte, command string) ([]byte, error) {
	text, err := Install(text, command)
	if err != nil {
		return nil, err
	}
	s, err := openSettings(text, command)
	if err != nil {
		return nil, err
	}
	for _, tool := range allowed() {
		if err := s.allow(tool); err != nil {
			return nil, err
		}
	}
	return s.result(), nil
}

// allow puts a permission into the list of those that are given.
func (s *settings) allow(tool string) error {
	permissions, has := s.root.Get("permissions")
	list, listed := permissions.Get("allow")
	switch {
	case has && permissions.Kind != '{', listed && list.Kind != '[':
		return fmt.Errorf("%w: its permissions are not as the agent has them", ErrSettings)
	case s.isAllowed(list, tool) >= 0:
		return nil
	}
	container, key, value := s.root, "permissions", any(map[string][]string{"allow": {tool}})
	switch {
	case listed:
		container, key, value = list, "", tool
	case has:
		container, key, value = permissions, "allow", []string{tool}
	}
	text, err := jsontext.Append(s.text, container, s.style, key, value)
	if err != nil {
		return err
	}
	return s.set(text)
}

func (s *settings) isAllowed(list jsontext.Value, tool string) int {
	return slices.IndexFunc(list.Elements, func(v jsontext.Value) bool {
		text, ok := v.String(s.text)
		return ok && text == tool
	})
}

// forbid takes a permission out, and what is empty without it.
func (s *settings) forbid(tool string) error {
	permissions, _ := s.root.Get("permissions")
	list, _ := permissions.Get("allow")
	at := s.isAllowed(list, tool)
	switch {
	case at < 0:
		return nil
	case list.Len() > 1:
		return s.set(jsontext.Remove(s.text, list, at))
	case permissions.Len() > 1:
		return s.set(jsontext.Remove(s.text, permissions, memberAt(permissions, "allow")))
	}
	return s.set(jsontext.Remove(s.text, s.root, memberAt(s.root, "permissions")))
}

// Allows says whether a settings text lets the agent use both tools unasked.
func Allows(text []byte) bool {
	s, err := openSettings(text, "")
	if err != nil {
		return false
	}
	permissions, _ := s.root.Get("permissions")
	list, _ := permissions.Get("allow")
	return !slices.ContainsFunc(allowed(), func(tool string) bool { return s.isAllowed(list, tool) < 0 })
}
