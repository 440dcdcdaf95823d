package turns

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/registry"
)

const noWorktree = "not a git work tree"

// trees remembers which work tree a directory is in, so that git is asked once
// and not at each event.
type trees struct {
	find func(ctx context.Context, dir string) (WorktreeInfo, error)

	mu    sync.Mutex
	known map[string]*tree // by directory
}

// tree is what is known of one directory.
type tree struct {
	mu     sync.Mutex // held while git is asked
	asked  bool
	where  place
	marker string // the nearest ".git" when git was asked
}

// place is where a caller stands.
type place struct {
	WorktreeInfo        // Root is the directory itself where there is no work tree
	reason       string // why nothing can be saved here; empty: it can
	refusal      error  // the same for a caller that wants something saved here
	failed       bool   // that is a failure, not just the absence of a work tree
}

// session is the name of the session of this place.
func (p place) session() string {
	return registry.SessionName(p.Root, p.CommonDir, p.Branch, p.GitDir != p.CommonDir)
}

// at returns the place of dir, an absolute path; of anything else, nowhere. The
// name of a directory that has gone stands as it is. With again, a failure or
// the absence of a work tree is not believed from memory.
func (ts *trees) at(ctx context.Context, dir string, again bool) place {
	if !filepath.IsAbs(dir) {
		return place{reason: noWorktree, refusal: api.Errorf(api.CodeInvalidParams, "the caller's directory is missing").
			WithHint(api.Hint{Param: "dir", Detail: "give it as an absolute path"})}
	}
	dir = realPath(dir)
	ts.mu.Lock()
	t := ts.known[dir]
	if t == nil {
		t = &tree{}
		ts.known[dir] = t
	}
	ts.mu.Unlock()

	t.mu.Lock()
	defer t.mu.Unlock()
	marker := nearestMarker(dir)
	if t.asked && t.marker == marker && (t.where.reason == "" || !again) {
		return t.where
	}
	// The caller may leave at any time; what it reported still counts.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWait)
	defer cancel()
	info, err := ts.find(ctx, dir)
	t.asked, t.marker, t.where = true, marker, placeOf(dir, info, err)
	return t.where
}

// realPath is dir without symbolic links; what cannot be looked up stands as it
// is.
func realPath(dir string) string {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	return filepath.Clean(dir)
}

func placeOf(dir string, info WorktreeInfo, err error) place {
	if err == nil {
		return place{WorktreeInfo: info}
	}
	why := reason(err)
	if nowhere(err) && strings.HasPrefix(why, noWorktree) {
		why = noWorktree
	}
	p := place{WorktreeInfo: WorktreeInfo{Root: dir}, reason: why, refusal: refusal(dir, why, err), failed: !nowhere(err)}
	var known *checkpoint.Error
	if !p.failed && errors.As(err, &known) && known.Detail != "" && why != noWorktree {
		p.reason += "; " + known.Detail // there is a repository, and a way to have it used
	}
	return p
}

// nowhere reports whether err says that no checkpoints can be taken of a
// directory, which is no failure.
func nowhere(err error) bool {
	return checkpoint.HasCode(err, checkpoint.NotRepo) || api.AsError(err).Code == api.CodeNotRepo
}

// nearestMarker is the nearest ".git" at or above dir, empty where there is
// none: when it is another than before, the directory is in another work tree
// than before.
func nearestMarker(dir string) string {
	for {
		marker := filepath.Join(dir, ".git")
		if _, err := os.Lstat(marker); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return marker
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// refusal is a failure to find the work tree of dir, as its caller is told it.
func refusal(dir, why string, err error) *api.Error {
	if why == noWorktree {
		why += ": " + dir
	}
	var known *checkpoint.Error
	if errors.As(err, &known) {
		e := api.Errorf(api.Code(known.Code), "%s", why)
		if known.Detail != "" {
			e = e.WithHint(api.Hint{Detail: known.Detail})
		}
		return e
	}
	e := *api.AsError(err)
	if e.Message = why; errors.Is(err, context.DeadlineExceeded) {
		e.Code = api.CodeTimeout
	}
	return &e
}

// reason is a failure as a person reads it beside a turn.
func reason(err error) string {
	var known *checkpoint.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "the daemon was stopped"
	case errors.As(err, &known):
		return known.Message
	case errors.Is(err, context.DeadlineExceeded):
		return "git took too long"
	}
	return api.AsError(err).Message
}
