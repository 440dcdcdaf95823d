package house

import (
	"fmt"
	"go/token"
	"path"
	"slices"
	"strings"
)

// execRoom is the one package that may import os/exec.
const execRoom = "internal/xec"

// floors returns the rooms, the highest floor first. A room is a folder below
// internal, or a folder at the root; folders inside it belong to it.
func floors() [][]string {
	return [][]string{
		{"cmd"},
		{"assembly"},
		{"cli", "tour"},
		{"connect"},
		{"daemon"},
		{"verbs"},
		{"turns"},
		{"wire"},
		{"checkpoint", "conversations", "proxy", "plugin", "launch", "mcp", "coder"},
		{"snapshot", "restore", "registry", "agents", "trust"},
		{"git", "conversation", "agentstate", "config", "terminal", "api"},
		{"xec", "nearest", "files", "label", "trailers", "patch", "shell"},
	}
}

func floorPlan() string {
	var plan []string
	for _, floor := range floors() {
		plan = append(plan, strings.Join(floor, ", "))
	}
	return strings.Join(plan, " > ")
}

// room is the room that a package directory belongs to.
func room(dir string) string {
	if rest, ok := strings.CutPrefix(dir, "internal/"); ok {
		dir = rest
	}
	name, _, _ := strings.Cut(dir, "/")
	return name
}

// floorOf counts from the top; -1 when the room is on no floor.
func floorOf(room string) int {
	return slices.IndexFunc(floors(), func(floor []string) bool { return slices.Contains(floor, room) })
}

// eachImport visits the imports of our own packages in what ships.
func (s *Source) eachImport(visit func(f *File, from, to string, v Violation)) {
	for _, f := range s.shipped() {
		for _, spec := range f.Imports {
			if to, ok := s.ours(importPath(spec)); ok {
				visit(f, room(f.Dir()), to, Violation{File: f.Path, Line: s.line(spec.Pos())})
			}
		}
	}
}

func checkFloors(s *Source) []Violation {
	var found []Violation
	lost := map[string]bool{}
	for _, f := range s.shipped() {
		if name := room(f.Dir()); floorOf(name) < 0 && !lost[name] {
			lost[name] = true
			found = append(found, Violation{File: f.Dir(), What: fmt.Sprintf("room %q stands on no floor", name)})
		}
	}
	s.eachImport(func(_ *File, from, to string, v Violation) {
		target := room(to)
		if from == target || isTestOnly(to) || floorOf(from) < 0 || floorOf(target) < 0 {
			return
		}
		if floorOf(target) <= floorOf(from) {
			v.What = fmt.Sprintf("%s imports %s, which is not below it", from, target)
			found = append(found, v)
		}
	})
	return found
}

// checkFaces keeps what stands between a face and the repository out of it.
func checkFaces(s *Source) []Violation {
	faces := []string{"cli", "tour"}
	behind := []string{"daemon", "verbs", "turns", "checkpoint", "snapshot", "restore", "registry"}
	var found []Violation
	s.eachImport(func(_ *File, from, to string, v Violation) {
		if slices.Contains(faces, from) && slices.Contains(behind, room(to)) {
			v.What = fmt.Sprintf("%s imports %s", from, room(to))
			found = append(found, v)
		}
	})
	return found
}

func checkWire(s *Source) []Violation {
	var found []Violation
	s.eachImport(func(_ *File, from, to string, v Violation) {
		if from == "api" {
			v.What = "api imports " + to
			found = append(found, v)
		}
	})
	return found
}

// checkLibrary keeps the conversation library free of our other rooms and of
// other modules. A path of the standard library has no dot in its first part.
func checkLibrary(s *Source) []Violation {
	const library = "conversation"
	var found []Violation
	for _, f := range s.shipped() {
		if room(f.Dir()) != library {
			continue
		}
		for _, spec := range f.Imports {
			p := importPath(spec)
			to, own := s.ours(p)
			first, _, _ := strings.Cut(p, "/")
			if own && room(to) != library || !own && strings.Contains(first, ".") {
				found = append(found, s.violation(f, spec.Pos(), "imports %s", p))
			}
		}
	}
	return found
}

func checkTestImports(s *Source) []Violation {
	var found []Violation
	s.eachImport(func(_ *File, _, to string, v Violation) {
		if isTestOnly(to) {
			v.What = "imports " + to
			found = append(found, v)
		}
	})
	for _, f := range s.shipped() {
		for _, spec := range f.Imports {
			if p := importPath(spec); p == "testing" || strings.HasPrefix(p, "testing/") {
				found = append(found, s.violation(f, spec.Pos(), "imports %s", p))
			}
		}
	}
	return found
}

func checkExec(s *Source) []Violation {
	var found []Violation
	for _, f := range s.shipped() {
		if f.Dir() == execRoom {
			continue
		}
		for _, spec := range f.Imports {
			if importPath(spec) == "os/exec" {
				found = append(found, s.violation(f, spec.Pos(), "imports os/exec"))
			}
		}
		for pkg, members := range map[string][]string{
			"os":      {"StartProcess"},
			"syscall": {"Exec", "ForkExec", "StartProcess"},
			"unix":    {"Exec"},
		} {
			found = append(found, s.members(f, pkg, members)...)
		}
	}
	return found
}

func checkExit(s *Source) []Violation {
	var found []Violation
	for _, f := range s.shipped() {
		if isMain(f) {
			continue
		}
		found = append(found, s.members(f, "os", []string{"Exit"})...)
		found = append(found, s.members(f, "log", []string{"Fatal", "Fatalf", "Fatalln"})...)
	}
	return found
}

func checkAmbient(s *Source) []Violation {
	var found []Violation
	for _, f := range s.shipped() {
		if isMain(f) {
			continue
		}
		found = append(found, s.members(f, "os", []string{
			"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv",
			"Stdin", "Stdout", "Stderr", "Args", "Getwd", "Chdir",
			"UserHomeDir", "UserConfigDir", "UserCacheDir",
		})...)
	}
	return found
}

// members finds uses of a package's members in a file. The package is given by
// its path, or by the last part of it for one outside the standard library.
func (s *Source) members(f *File, pkg string, members []string) []Violation {
	var found []Violation
	for _, spec := range f.Imports {
		if p := importPath(spec); p != pkg && path.Base(p) != pkg {
			continue
		}
		f.uses(importPath(spec), func(member string, at token.Pos) {
			if slices.Contains(members, member) {
				found = append(found, s.violation(f, at, "uses %s.%s", pkg, member))
			}
		})
	}
	return found
}

// isMain says whether a file is of the program's main package.
func isMain(f *File) bool {
	return room(f.Dir()) == "cmd" && f.Name.Name == "main"
}
