package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/checkpoint/salvage"
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
		case mendKeep:
			err = l.salvage(ctx, f)
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

// salvage keeps what is whole of a checkpoint. Where nothing can be read, it goes.
func (l *look) salvage(ctx context.Context, f *Finding) error {
	i := slices.IndexFunc(l.units, func(u unit) bool { return u.ref == f.Ref })
	whole, err := salvage.Salvager{Repo: l.Repo, Now: l.Now, Bad: l.bad}.Write(ctx, *l.units[i].c)
	if errors.Is(err, salvage.ErrNothing) {
		f.Mend = mendDrop
		return l.drop(ctx, f)
	}
	if err == nil {
		err = l.noteOld(f)
	}
	if err != nil {
		return err
	}
	return l.Repo.UpdateRefs(ctx, []git.RefChange{{Name: f.Ref, Old: l.names[f.Ref], New: whole.Commit}})
}

// drop deletes a ref and writes down what it held: as long as no gc has taken
// it, what is left can be had by its id.
func (l *look) drop(ctx context.Context, f *Finding) error {
	if err := l.noteOld(f); err != nil {
		return err
	}
	return l.Repo.UpdateRefs(ctx, []git.RefChange{{Name: f.Ref, Old: l.names[f.Ref]}})
}

// noteOld writes down what a ref holds.
func (l *look) noteOld(f *Finding) error {
	return l.writeDown(fmt.Sprintf("%s %s %s\n", l.Now().UTC().Format("2006-01-02T15:04:05Z"), l.names[f.Ref], f.Ref))
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
