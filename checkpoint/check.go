package checkpoint

import (
	"context"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/checkpoint/verify"
)

// What Verify is asked and tells; see package verify.
type (
	VerifyRequest = verify.Request
	VerifyReport  = verify.Report
	Finding       = verify.Finding
	Severity      = verify.Severity
)

// The severities of a finding.
const (
	SeverityBroken   = verify.Broken
	SeverityDamaged  = verify.Damaged
	SeverityLeftover = verify.Leftover
	SeverityNote     = verify.Note
)

func (s *Store) checker() *verify.Checker { return &verify.Checker{Repo: s.repo, Now: s.now} }

// Verify looks at every checkpoint of the repository, of all its panes and work
// trees: whether it can be had, and whether what is missing breaks git's own
// commands. It takes no lock unless it mends.
func (s *Store) Verify(ctx context.Context, r VerifyRequest) (report VerifyReport, err error) {
	if r.Mend {
		err = s.lockedAll(ctx, func() (err error) {
			report, err = s.checker().Verify(ctx, r)
			return err
		})
		return report, err
	}
	report, err = s.checker().Verify(ctx, r)
	return report, fail.From(err)
}

// DropBroken deletes the refs of ours whose commit is missing, in all panes, and
// tells of each: they hold nothing, and git fetch and gc fail because of them.
// Call it when idle; it needs two git processes where all is well.
func (s *Store) DropBroken(ctx context.Context) ([]Finding, error) {
	dropped, err := s.checker().Drop(ctx)
	return dropped, fail.From(err)
}
