package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/turnback/turnback/internal/agents/transcript"
)

// OpenTranscript opens the transcript of a session, as a Place in JSON tells where
// it is, to read it. It has to lie where the agent keeps its transcripts by the
// environment env, under that session's name, as a file of this user's; no
// symbolic link below that folder is followed.
func (Adapter) OpenTranscript(env func(string) string, session, place string) (f *os.File, path string, err error) {
	at, err := placeOf(session, place)
	if err != nil {
		return nil, "", err
	}
	settings, err := UserSettings(env)
	if err != nil {
		return nil, "", err
	}
	f, err = transcript.Open(filepath.Join(filepath.Dir(settings), "projects"), at.Path, 1)
	return f, at.Path, err
}

// placeOf reads a place. It comes from a checkpoint, which may be anybody's: what
// it names has to be the transcript of that session.
func placeOf(session, place string) (Place, error) {
	var at Place
	if err := json.Unmarshal([]byte(place), &at); err != nil || at.UUID == "" && at.Call == "" {
		return Place{}, errors.New("the place in the transcript cannot be read")
	}
	if !filepath.IsAbs(at.Path) || filepath.Base(at.Path) != session+transcriptExt || identifier(session) != session || session == "" {
		return Place{}, fmt.Errorf("%q is not the transcript of session %s", at.Path, session)
	}
	return at, nil
}
