package checkpoints

import (
	"context"
	"strings"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
)

// verify looks whether every checkpoint of the repository can be had, and with
// mend does what helps.
func (c *checkpoints) verify(mend bool) func(context.Context, api.VerifyCheckpointsParams) (api.VerifyCheckpointsResult, error) {
	return func(ctx context.Context, p api.VerifyCheckpointsParams) (api.VerifyCheckpointsResult, error) {
		store, err := c.storeFor(ctx, p.Place)
		if err != nil {
			return api.VerifyCheckpointsResult{}, err
		}
		report, err := store.Verify(ctx, checkpoint.VerifyRequest{Full: p.Full, Mend: mend})
		if err != nil {
			return api.VerifyCheckpointsResult{}, err
		}
		return wireReport(report, store.Worktree()), nil
	}
}

func wireReport(r checkpoint.VerifyReport, worktree string) api.VerifyCheckpointsResult {
	out := api.VerifyCheckpointsResult{
		Worktree: worktree, OK: r.OK(), Checkpoints: r.Checkpoints, Panes: r.Panes, Objects: r.Objects,
		Findings: []api.VerifyFinding{}, Untrusted: true,
	}
	for _, f := range r.Findings {
		w := api.VerifyFinding{
			Severity: string(f.Severity), Ref: f.Ref, Pane: f.Pane, N: f.N, File: strings.ToValidUTF8(f.File, "\uFFFD"),
			What: strings.ToValidUTF8(f.What, "\uFFFD"), Mend: f.Mend, Mended: f.Mended, Failed: f.Failed,
		}
		if f.Command != "" {
			w.Command = "turnback " + f.Command
		}
		out.Findings = append(out.Findings, w)
	}
	return out
}
