package claude

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/turnback/turnback/internal/agents/jsontext"
	"github.com/turnback/turnback/internal/agents/settingsfile"
)

// UserSettings is the path of the person's settings; env is their environment. A
// relative CLAUDE_CONFIG_DIR is an error: which file it means depends on where
// the agent is started.
func UserSettings(env func(string) string) (string, error) {
	switch dir := env("CLAUDE_CONFIG_DIR"); {
	case filepath.IsAbs(dir):
		return filepath.Join(dir, "settings.json"), nil
	case dir != "":
		return "", fmt.Errorf("CLAUDE_CONFIG_DIR is %q, which is not an absolute path", dir)
	}
	home := env("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("your settings cannot be found: HOME is not an absolute path")
	}
	return filepath.Join(home, ".claude", "settings.json"), nil
}

// ProjectSettings is the path of the settings that everybody shares who starts
// the agent in the directory root.
func ProjectSettings(root string) string { return filepath.Join(root, ".claude", "settings.json") }

// LocalSettings is the path of the person's own settings for root.
func LocalSettings(root string) string {
	return filepath.Join(root, ".claude", "settings.local.json")
}

// Setup puts turnback's hooks into a settings file and takes them out.
type Setup struct {
	File    settingsfile.File
	Command string // turnback's program, absolute
	// Conversation installs what conversation checkpoints need besides.
	Conversation bool
}

// PlanInstall says what Install would make of the file. An ErrSettings says that
// the file has to be put in order first.
func (s Setup) PlanInstall() (settingsfile.Plan, error) {
	p, err := s.open()
	if err != nil {
		return p, err
	}
	install := Install
	if s.Conversation {
		install = InstallConversation
	}
	p.New, err = install(p.Old, s.Command)
	return p, s.explain(err)
}

// ApplyInstall makes the change of a plan by PlanInstall.
func (s Setup) ApplyInstall(p settingsfile.Plan) error {
	if hooks, err := Hooks(p.Old, s.Command); err != nil || len(hooks) == 0 {
		if err := p.NoteOrigin(); err != nil {
			return err
		}
	}
	return p.Apply()
}

// PlanRemove says what is left of the file without the hooks. It is the very
// text from before the hooks were put in, or no file if there was none, when
// nothing else has changed since.
func (s Setup) PlanRemove() (settingsfile.Plan, error) {
	p, err := s.open()
	if err != nil || !p.Existed {
		return p, err
	}
	hooks, err := Hooks(p.Old, s.Command)
	if err != nil || len(hooks) == 0 && !Allows(p.Old) {
		return p, s.explain(err)
	}
	origin, known := s.File.Origin()
	for _, install := range []func([]byte, string) ([]byte, error){Install, InstallConversation} {
		if !known || len(hooks) == 0 {
			break
		}
		if again, err := install(origin.Text, hooks[0].Command); err == nil && bytes.Equal(again, p.Old) {
			p.New, p.Delete = origin.Text, !origin.Existed
			return p, nil
		}
	}
	if p.New, err = Remove(p.Old, s.Command); err != nil {
		return p, s.explain(err)
	}
	p.Delete = known && !origin.Existed && isEmpty(p.New)
	return p, nil
}

// ApplyRemove makes the change of a plan by PlanRemove.
func (s Setup) ApplyRemove(p settingsfile.Plan) error {
	if err := p.Apply(); err != nil {
		return err
	}
	return s.File.ForgetOrigin()
}

func (s Setup) open() (settingsfile.Plan, error) {
	p, err := s.File.Open()
	if err == nil && p.Existed && len(bytes.TrimSpace(p.Old)) == 0 {
		err = s.explain(fmt.Errorf("%w: the file is empty", ErrSettings))
	}
	return p, err
}

func (s Setup) explain(err error) error {
	if !errors.Is(err, ErrSettings) {
		return err
	}
	return fmt.Errorf("%s %w", s.File.Path, err)
}

func isEmpty(text []byte) bool {
	v, err := jsontext.Parse(text)
	return err == nil && v.Kind == '{' && v.Len() == 0
}
