package openai_test

import (
	"testing"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider/openai"
)

// Servers that only speak like OpenAI know no developer, or refuse one in the
// middle of a list.
func TestRemindersHaveTheDevelopersRoleWithOpenAIAlone(t *testing.T) {
	for base, want := range map[string]session.Role{
		"":                             session.RoleDeveloper,
		"https://api.openai.com/v1":    session.RoleDeveloper,
		"https://eu.api.openai.com/v1": session.RoleDeveloper,
		"http://127.0.0.1:11434/v1":    session.RoleUser,
		"https://openrouter.ai/api/v1": session.RoleUser,
		"https://api.openai.com.evil/": session.RoleUser,
		"https://notopenai.com/v1":     session.RoleUser,
	} {
		if got := openai.New(openai.Options{Name: "m", BaseURL: base}).ReminderRole(); got != want {
			t.Errorf("%q: %s, want %s", base, got, want)
		}
	}
}
