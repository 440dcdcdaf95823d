// Package seed gives property tests the same histories each time, unless a run
// asks for others: a check that fails now and then, for a reason that was there
// before, tells nobody what to do. make soak draws new histories.
package seed

import (
	"flag"
	"testing"
)

// Main runs the tests of a package with a fixed seed for rapid, where the command
// line gives none, and returns the status to exit with.
func Main(m *testing.M) int {
	flag.Parse()
	if f := flag.Lookup("rapid.seed"); f != nil && f.Value.String() == "0" {
		if err := flag.Set("rapid.seed", "20261130"); err != nil {
			panic(err)
		}
	}
	return m.Run()
}
