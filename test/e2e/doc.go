// Package e2e drives the real Claude Code CLI, with turnback's hooks installed
// as a person installs them, against a scripted model on the loopback, and then
// reads and takes back what it did.
//
// The tests carry the build tag e2e: they need the CLI, which is large and
// comes from a package registry. "make e2e" gets it and runs them.
package e2e
