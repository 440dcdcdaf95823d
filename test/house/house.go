// Package house holds the rules that the source tree itself has to keep: which
// room may import which, how large things may grow, what only one place may
// do. CONTRIBUTING.md tells them with their reasons.
//
// A rule is a function over parsed source, so that a test can hold it against
// the repository and against a small tree that breaks it.
package house

import (
	"cmp"
	"fmt"
	"slices"
)

// Rule is one rule of the house.
type Rule struct {
	Name  string // names the rule in a failure
	Text  string // what it asks for
	check func(*Source) []Violation
}

// Violation is one place where a rule is broken.
type Violation struct {
	Rule string // the rule's name
	File string // slash-separated, relative to the root
	Line int    // 0: the whole file or package
	What string
}

func (v Violation) String() string {
	place := v.File
	if v.Line > 0 {
		place = fmt.Sprintf("%s:%d", v.File, v.Line)
	}
	return fmt.Sprintf("%s: %s (rule %s)", place, v.What, v.Rule)
}

// Check returns what breaks the rule, in order of place.
func (r Rule) Check(s *Source) []Violation {
	found := r.check(s)
	for i := range found {
		found[i].Rule = r.Name
	}
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.What, b.What))
	})
	return found
}

// Rules returns every rule about Go source.
func Rules() []Rule {
	return []Rule{
		{"floors", "an import goes down only: " + floorPlan(), checkFloors},
		{"faces", "the command line and the tour reach the daemon through connect and api alone", checkFaces},
		{"wire", "api, the wire types, imports nothing of ours", checkWire},
		{"library", "conversation is for others to import: it needs the standard library and itself, nothing else", checkLibrary},
		{"tests", "what ships imports no test helper", checkTestImports},
		{"exec", "only " + execRoom + " starts processes", checkExec},
		{"exit", "only main ends the process", checkExit},
		{"ambient", "environment, streams and working directory come in as parameters; only main reads them", checkAmbient},
		{"globals", "no package variable but a sentinel error, an embedded file or an interface assertion", checkGlobals},
		{"init", "no init function", checkInit},
		{"package size", fmt.Sprintf("a package has at most %d lines that are not tests", maxPackageLines), checkPackageSize},
		{"file size", fmt.Sprintf("a file has at most %d lines", maxFileLines), checkFileSize},
		{"function size", fmt.Sprintf("a function that is no test has at most %d lines", maxFunctionLines), checkFunctionSize},
		{"interface size", fmt.Sprintf("an interface has at most %d methods", maxInterfaceMethods), checkInterfaceSize},
	}
}
