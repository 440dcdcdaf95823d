package kept

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/turnback/turnback/checkpoint/beside"
	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/record"
	"github.com/turnback/turnback/internal/git"
)

// Write stores what is to be kept beside a checkpoint and gives its commit; empty:
// there is nothing to keep.
func Write(ctx context.Context, repo *git.Repo, now time.Time, parts []beside.Part) (string, error) {
	if len(parts) == 0 {
		return "", nil
	}
	w, err := repo.WriteTrees(ctx)
	if err != nil {
		return "", err
	}
	entries := make([]git.Entry, 0, len(parts))
	for _, p := range parts {
		e, err := writePart(ctx, repo, w, p)
		if err != nil {
			return "", errors.Join(err, w.Close())
		}
		entries = append(entries, e)
	}
	tree, err := w.Write(entries)
	if err := errors.Join(err, w.Close()); err != nil {
		return "", err
	}
	return repo.WriteCommit(ctx, git.CommitSpec{Tree: tree, Name: record.IdentityName, Email: record.IdentityEmail, When: now, Message: "kept beside a checkpoint\n"})
}

func writePart(ctx context.Context, repo *git.Repo, w *git.TreeWriter, p beside.Part) (git.Entry, error) {
	e := git.Entry{Path: p.Name, Mode: git.ModeTree, ID: p.Tree}
	var err error
	switch {
	case p.Tree != "":
	case len(p.Blobs) > 0:
		blobs := make([]git.Entry, len(p.Blobs))
		for i, id := range p.Blobs {
			blobs[i] = git.Entry{Path: id, Mode: git.ModeFile, ID: id}
		}
		e.ID, err = w.Write(blobs)
	default:
		e.Mode = git.ModeFile
		e.ID, err = repo.WriteBlob(ctx, p.Data)
	}
	return e, err
}

// Read reads what is kept beside checkpoint n, by a commit (empty: nothing is).
// What the checkpoint says it looked for is known then.
func Read(ctx context.Context, repo *git.Repo, n int, commit string, looked []string) (beside.Content, error) {
	var c beside.Content
	if commit != "" {
		entries, err := repo.TreeTop(ctx, commit+"^{tree}")
		if err != nil {
			return c, fail.From(err)
		}
		c, err = beside.Decode(entries, func(id string) ([]byte, error) { return readBlob(ctx, repo, id) })
		if errors.Is(err, beside.ErrMalformed) {
			return c, fail.Broken(n, err.Error())
		}
		if err != nil {
			return c, fail.From(err)
		}
	}
	c.Found(looked)
	return c, nil
}

// ReadAll is Read for somebody who writes it again: with the ids of the staged files
// that it holds.
func ReadAll(ctx context.Context, repo *git.Repo, n int, commit string, looked []string) (beside.Content, error) {
	c, err := Read(ctx, repo, n, commit, looked)
	if err != nil || commit == "" || c.Index == nil || len(c.Index.Entries) == 0 {
		return c, err
	}
	entries, err := repo.TreeTop(ctx, commit+"^{tree}")
	if err != nil {
		return c, fail.From(err)
	}
	for _, e := range entries {
		if e.Path != beside.NameIndexBlobs {
			continue
		}
		blobs, err := repo.TreeTop(ctx, e.ID)
		if err != nil {
			return c, fail.From(err)
		}
		index := *c.Index
		for _, b := range blobs {
			index.Blobs = append(index.Blobs, b.ID)
		}
		c.Index = &index
	}
	return c, nil
}

func readBlob(ctx context.Context, repo *git.Repo, id string) ([]byte, error) {
	r, err := repo.ReadObjects(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, _, err = r.Copy(id, &b)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	return b.Bytes(), err
}
