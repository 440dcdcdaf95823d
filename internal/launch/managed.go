package launch

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/api"
)

// ManagedFolder is where an administrator puts settings of Claude Code, on the
// system of that name.
func ManagedFolder(system string) string {
	switch system {
	case "darwin":
		return "/Library/Application Support/ClaudeCode"
	case "windows":
		return `C:\Program Files\ClaudeCode`
	}
	return "/etc/claude-code"
}

// managedSettings is what matters here of settings that an administrator makes.
// They win over all others, --settings included.
type managedSettings struct {
	claudeSettings
	// Under a list of providers a base URL holds only where the list's own file has
	// it.
	AllowedProviders any    `json:"allowedProviders"`
	ForceLogin       string `json:"forceLoginMethod"`
	ForceLoginOrg    any    `json:"forceLoginOrgUUID"`
	HooksOff         bool   `json:"disableAllHooks"`
	ManagedHooks     bool   `json:"allowManagedHooksOnly"`
}

// managedLayers are the settings of the administrator, the strongest first: those
// that Claude Code got from the organization's server, the later files of the
// folder beside managed-settings.json, that file. What cannot be had together with
// a proxy is an error.
func (p *Plan) managedLayers() ([]claudeSettings, error) {
	files, err := p.managedFiles()
	if err != nil {
		return nil, err
	}
	var layers []claudeSettings
	quiet := ""
	for _, path := range files {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var s managedSettings
		if err == nil {
			err = json.Unmarshal(settingsText(text), &s)
		}
		if err != nil {
			return nil, unsupported("%s cannot be read, so it is not known where Claude Code sends its requests: %v", path, err)
		}
		if err := s.check(path); err != nil {
			return nil, err
		}
		if s.HooksOff || s.ManagedHooks {
			quiet = cmp.Or(quiet, path)
		}
		layers = append(layers, s.claudeSettings)
	}
	if quiet != "" {
		p.Notes = append(p.Notes, quiet+" lets no hooks of turnback run, so a call of checkpoint or rewind belongs to no session and is refused")
	}
	return layers, nil
}

// check refuses what makes Claude Code go past the proxy, or not start before one.
func (s managedSettings) check(path string) error {
	hint := api.Hint{Param: path, Detail: "start claude itself: its tools checkpoint and rewind work there, and nothing is collapsed"}
	switch {
	case s.Env["ANTHROPIC_BASE_URL"] != "":
		return unsupported("%s sets ANTHROPIC_BASE_URL, which wins over all that turnback can hand over: requests would go past the proxy", path).WithHint(hint)
	case s.AllowedProviders != nil:
		return unsupported("%s has allowedProviders, with which Claude Code refuses the base URL of a proxy", path).WithHint(hint)
	case s.ForceLogin != "" || s.ForceLoginOrg != nil:
		return unsupported("%s asks for a login (forceLoginMethod, forceLoginOrgUUID), with which Claude Code refuses the base URL of a proxy", path).WithHint(hint)
	}
	return nil
}

// managedFiles are the files of the administrator, the strongest first.
func (p *Plan) managedFiles() ([]string, error) {
	var files []string
	if dir := p.claudeFolder(); dir != "" {
		files = append(files, filepath.Join(dir, "remote-settings.json"))
	}
	if p.options.Managed == "" {
		return files, nil
	}
	folder := filepath.Join(p.options.Managed, "managed-settings.d")
	more, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unsupported("%s cannot be read, so it is not known where Claude Code sends its requests: %v", folder, err)
	}
	for _, entry := range slices.Backward(more) { // by name: a later one holds
		if name := entry.Name(); strings.HasSuffix(name, ".json") && !strings.HasPrefix(name, ".") {
			files = append(files, filepath.Join(folder, name))
		}
	}
	return append(files, filepath.Join(p.options.Managed, "managed-settings.json")), nil
}

// claudeFolder is where Claude Code keeps what is the person's; empty: unknown.
func (p *Plan) claudeFolder() string {
	if dir := p.options.getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	if home := p.options.getenv("HOME"); home != "" {
		return filepath.Join(home, ".claude")
	}
	return ""
}
