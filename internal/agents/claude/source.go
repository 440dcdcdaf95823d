package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	folder := filepath.Join(filepath.Dir(settings), "projects")
	rel, ok := below(folder, at.Path)
	if !ok {
		return nil, "", errors.New("the transcript is not in the agent's own folder")
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, "", fmt.Errorf("open the agent's folder: %w", err)
	}
	defer root.Close()
	project, err := root.Lstat(filepath.Dir(rel))
	if err == nil && !project.IsDir() {
		err = errors.New("it is not in a folder")
	}
	if err != nil {
		return nil, "", fmt.Errorf("look at the transcript: %w", err)
	}
	f, err = openPlain(root, rel)
	return f, at.Path, err
}

// openPlain opens a plain file of this user's.
func openPlain(root *os.Root, name string) (*os.File, error) {
	was, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("look at the transcript: %w", err)
	}
	if !was.Mode().IsRegular() || !ours(was) {
		return nil, errors.New("the transcript is no plain file of yours")
	}
	f, err := root.OpenFile(name, os.O_RDONLY|notWaiting, 0)
	if err != nil {
		return nil, fmt.Errorf("open the transcript: %w", err)
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(was, is) {
		return nil, errors.Join(errors.New("the transcript was replaced while it was opened"), err, f.Close())
	}
	return f, nil
}

// below is the path of a transcript as seen from the folder of transcripts, which
// may be named through symbolic links: a folder for the project, and in it the file.
func below(folder, path string) (string, bool) {
	folders := []string{folder}
	if real, err := filepath.EvalSymlinks(folder); err == nil {
		folders = append(folders, real)
	}
	for _, f := range folders {
		rel, err := filepath.Rel(f, path)
		if err == nil && filepath.IsLocal(rel) && strings.Count(rel, string(filepath.Separator)) == 1 {
			return rel, true
		}
	}
	return "", false
}

// placeOf reads a place. It comes from a checkpoint, which may be anybody's: what
// it names has to be the transcript of that session.
func placeOf(session, place string) (Place, error) {
	var at Place
	if err := json.Unmarshal([]byte(place), &at); err != nil || at.UUID == "" {
		return Place{}, errors.New("the place in the transcript cannot be read")
	}
	if !filepath.IsAbs(at.Path) || filepath.Base(at.Path) != session+transcriptExt || identifier(session) != session || session == "" {
		return Place{}, fmt.Errorf("%q is not the transcript of session %s", at.Path, session)
	}
	return at, nil
}
