// Package checkpoint saves, lists, compares and restores the states of a git
// work tree. A checkpoint is one commit under refs/turnback, with everything
// that is known of it in the commit itself; see docs/format.md. The package
// knows git and files, and nothing of agents, windows or daemons beyond the
// identity of a pane.
//
// A Store is for one work tree. Its methods may be called from several
// goroutines and several processes at once: a lock under the repository's
// common git directory puts the work on one tree into an order.
package checkpoint
