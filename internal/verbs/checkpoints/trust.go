package checkpoints

import (
	"context"

	"github.com/turnback/turnback/checkpoint"
	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/verbs"
)

// trusts are the verbs about the programs that a repository brings along.
func (c *checkpoints) trusts() []verbs.Verb {
	return []verbs.Verb{
		answers(c.listFilters, verbs.Verb{
			Name: "list-filters", Grant: verbs.GrantRead, Summary: "list the filter programs that git's configuration defines here, and which may run",
			Errors: about(),
		}),
		answers(c.trustFilters, verbs.Verb{
			Name: "trust-filters", Grant: verbs.GrantAdmin, Summary: "let filter programs of the repository's own configuration run",
			Errors: about("changed_meanwhile"), Example: `{"filters":[{"name":"crypt","clean":"git-crypt clean","smudge":"git-crypt smudge"}]}`,
		}),
		answers(c.distrustFilters, verbs.Verb{
			Name: "distrust-filters", Grant: verbs.GrantAdmin, Summary: "trust no filter program of the repository's own configuration any more",
			Errors: about(),
		}),
	}
}

func (c *checkpoints) listFilters(ctx context.Context, p api.ListFiltersParams) (api.FiltersResult, error) {
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.FiltersResult{}, err
	}
	return filters(ctx, store)
}

// filters tells which there are. A list is never null on the wire.
func filters(ctx context.Context, store *checkpoint.Store) (api.FiltersResult, error) {
	out := api.FiltersResult{Worktree: store.Worktree(), Filters: []api.Filter{}, Untrusted: true}
	list, err := store.Filters(ctx)
	for _, f := range list {
		out.Filters = append(out.Filters, api.Filter{
			FilterDriver: api.FilterDriver{Name: f.Name, Clean: f.Clean, Smudge: f.Smudge, Process: f.Process},
			Scope:        f.Scope, Runs: f.Allowed, Trusted: f.Trusted,
		})
	}
	return out, err
}

func (c *checkpoints) trustFilters(ctx context.Context, p api.TrustFiltersParams) (api.FiltersResult, error) {
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.FiltersResult{}, err
	}
	drivers := make([]checkpoint.Driver, 0, len(p.Filters))
	for _, f := range p.Filters {
		drivers = append(drivers, checkpoint.Driver{Name: f.Name, Clean: f.Clean, Smudge: f.Smudge, Process: f.Process})
	}
	if err := store.TrustFilters(ctx, drivers); err != nil {
		return api.FiltersResult{}, err
	}
	return filters(ctx, store)
}

func (c *checkpoints) distrustFilters(ctx context.Context, p api.ListFiltersParams) (api.FiltersResult, error) {
	store, err := c.storeFor(ctx, p.Place)
	if err != nil {
		return api.FiltersResult{}, err
	}
	had, err := store.Distrust()
	if err != nil {
		return api.FiltersResult{}, err
	}
	out, err := filters(ctx, store)
	out.Changed = had
	return out, err
}
