package checkpoints

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/text"
)

func newVerify(d command.Deps) *cobra.Command {
	var (
		o    command.Output
		p    api.VerifyCheckpointsParams
		mend bool
	)
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "See whether every checkpoint can be had",
		Long: `Look at every checkpoint of this repository, in all panes and work trees: whether
its commit and its objects are there and well formed, and whether anything that
is missing makes git's own fetch and gc fail. With --full every object is read
whole, which takes as long as git fsck.

--mend does what helps: it deletes the refs of which an object is missing, since
git's fetch and gc fail because of them, writes down what they held, and removes
what killed processes left behind.

Exit status: 0 all can be had, 1 something is broken or damaged, or it failed,
2 wrong usage, 3 no daemon could be had.`,
		Example: "  turnback checkpoint verify\n  turnback checkpoint verify --full --mend",
		Args:    command.MaxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if p.Place, err = d.Place(command.Target{}, ""); err != nil {
				return err
			}
			verb := "verify-checkpoints"
			if mend {
				verb = "mend-checkpoints"
			}
			raw, err := d.Call(cmd.Context(), command.StartDaemon, verb, p)
			if err != nil {
				return err
			}
			var r api.VerifyCheckpointsResult
			if err := json.Unmarshal(raw, &r); err != nil {
				return fmt.Errorf("decode the result of %s: %w", verb, err)
			}
			if err := command.Present(cmd, d, o, raw, showVerified); err != nil || r.OK {
				return err
			}
			return command.SilentFailure{Status: api.CodeInternal.ExitStatus()}
		},
	}
	f := cmd.Flags()
	f.BoolVar(&p.Full, "full", false, "read every object whole")
	f.BoolVar(&mend, "mend", false, "do what helps")
	o.AddTo(cmd)
	return cmd
}

func showVerified(w io.Writer, f text.Format, r api.VerifyCheckpointsResult) error {
	return f.Verified(w, r)
}
