package api

// FilterDriver is a filter as git's configuration defines it: the programs that
// git runs on the content of files that name it. An empty text runs nothing.
type FilterDriver struct {
	Name    string `json:"name"`
	Clean   string `json:"clean,omitempty"`   // from the disk into git
	Smudge  string `json:"smudge,omitempty"`  // from git to the disk
	Process string `json:"process,omitempty"` // both; it wins over the other two
}

// Filter is a filter with its leave to run.
type Filter struct {
	FilterDriver
	Scope   string `json:"scope"`   // where it is set: system, global, local, worktree
	Runs    bool   `json:"runs"`    // its programs may run
	Trusted bool   `json:"trusted"` // because of trust-filters, not because the machine sets them
}

// ListFiltersParams are the parameters of list-filters and distrust-filters.
type ListFiltersParams struct{ Place }

// TrustFiltersParams are the parameters of trust-filters: those that a person
// has seen, as list-filters gave them. No others of the repository's own
// configuration are trusted then.
type TrustFiltersParams struct {
	Place
	Filters []FilterDriver `json:"filters"`
}

// FiltersResult is the result of list-filters, trust-filters and
// distrust-filters: the filters as they are then.
type FiltersResult struct {
	Worktree  string   `json:"worktree"`
	Filters   []Filter `json:"filters"`           // by name
	Changed   bool     `json:"changed,omitempty"` // distrust-filters: anything was trusted
	Untrusted bool     `json:"untrusted"`
}
