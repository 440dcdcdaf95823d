package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/turnback/turnback/internal/git"
)

// mend carries out what the findings offer, and notes in each how it went.
func (l *look) mend(ctx context.Context) {
	for i := range l.report.Findings {
		f := &l.report.Findings[i]
		var err error
		switch f.Mend {
		case "":
			continue
		case mendDrop:
			err = l.drop(ctx, f)
		case mendRemove:
			err = os.RemoveAll(f.File)
		case mendAside:
			err = l.aside(ctx, f)
		}
		if err != nil {
			f.Failed = err.Error()
			continue
		}
		f.Mended = true
	}
}

// drop deletes a ref and writes down what it held: as long as no gc has taken
// it, what is left can be had by its id.
func (l *look) drop(ctx context.Context, f *Finding) error {
	id := l.names[f.Ref]
	if err := l.writeDown(fmt.Sprintf("%s %s %s\n", l.Now().UTC().Format("2006-01-02T15:04:05Z"), id, f.Ref)); err != nil {
		return err
	}
	return l.Repo.UpdateRefs(ctx, []git.RefChange{{Name: f.Ref, Old: id}})
}

func (l *look) writeDown(line string) error {
	dir := filepath.Join(l.Repo.CommonDir, "turnback")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("write down what is dropped: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(dir, "dropped-refs"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("write down what is dropped: %w", err)
	}
	_, err = file.WriteString(line)
	return errors.Join(err, file.Close())
}

// aside moves the file of a ref that git can neither read nor delete.
func (l *look) aside(ctx context.Context, f *Finding) error {
	if err := l.Repo.UpdateRefs(ctx, []git.RefChange{{Name: f.Ref}}); err == nil {
		return nil // a symbolic ref that leads nowhere
	}
	if !l.unlistedStill(ctx, f.Ref) {
		return nil
	}
	dir := filepath.Join(l.Repo.CommonDir, "turnback", "broken-refs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	name := fmt.Sprintf("%d-%s", l.Now().UnixNano(), strings.ReplaceAll(f.Ref, "/", "_"))
	return os.Rename(f.File, filepath.Join(dir, name))
}
