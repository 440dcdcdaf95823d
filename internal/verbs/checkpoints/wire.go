package checkpoints

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/wire"
)

// wirePaths gives paths for people. A list is never null on the wire.
func wirePaths(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		text, _ := wire.Path(p)
		out = append(out, text)
	}
	return out
}

func wireDiff(d checkpoint.Diff, pane api.Pane) api.CheckpointDiffResult {
	out := api.CheckpointDiffResult{
		Pane: pane, Subject: d.Subject, Against: d.Against, Files: []api.FileDiff{}, Added: d.Added, Deleted: d.Deleted,
		Cut: d.Cut, Note: d.Note, Untrusted: true,
	}
	for _, f := range d.Files {
		path, raw := wire.Path(f.Path)
		old, oldRaw := wire.Path(f.OldPath)
		out.Files = append(out.Files, api.FileDiff{
			Status: string(f.Status), Path: path, PathBase64: raw, OldPath: old, OldPathBase64: oldRaw, Added: f.Added, Deleted: f.Deleted, Binary: f.Binary, Submodule: f.Submodule, BytesOnly: f.BytesOnly, Cut: f.Cut,
		})
	}
	if utf8.Valid(d.Patch) {
		out.Patch = string(d.Patch)
	} else {
		out.Patch = strings.ToValidUTF8(string(d.Patch), "\uFFFD")
		out.PatchB64 = base64.StdEncoding.EncodeToString(d.Patch)
	}
	return out
}

func wireRestore(action string, r checkpoint.RestoreResult, pane api.Pane, dryRun bool) api.RestoreResult {
	out := api.RestoreResult{
		Pane: pane, N: r.N, Turn: r.Turn, Action: action, DryRun: dryRun, Written: wirePaths(r.Written), Removed: wirePaths(r.Removed),
		Staged: r.Staged, Overwritten: wirePaths(r.Overwritten), Kept: wirePaths(r.Kept), Skipped: wirePaths(r.Skipped), Uncertain: wirePaths(r.Uncertain), HeadHolds: r.HeadHolds, More: r.More, Notes: r.Notes, Untrusted: true,
	}
	if r.Safety != nil {
		out.Safety = r.Safety.N
	}
	for _, list := range [][]string{r.Written, r.Removed, r.Kept, r.Skipped, r.Uncertain, r.Overwritten} {
		for _, p := range list {
			if text, raw := wire.Path(p); raw != "" {
				if out.PathsBase64 == nil {
					out.PathsBase64 = map[string]string{}
				}
				out.PathsBase64[text] = raw
			}
		}
	}
	return out
}

// rawPaths is the way back: paths that came as text, and those that came as
// bytes in base64.
func rawPaths(text, raw []string) ([]string, error) {
	out := slices.Clone(text)
	for _, r := range raw {
		path, err := base64.StdEncoding.DecodeString(r)
		if err != nil {
			return nil, api.Errorf(api.CodeInvalidParams, "%.80q is not base64", r).WithHint(api.Hint{Param: "paths_base64"})
		}
		out = append(out, string(path))
	}
	return out, nil
}
