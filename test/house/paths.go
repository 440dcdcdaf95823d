package house

import (
	"bytes"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Paths is the rule on machine paths, kept apart from [Rules] because it reads
// every file that git tracks, not only Go source.
type Paths struct {
	// Machine holds absolute directories of the machine that the test runs
	// on: where the checkout is, the home directory. None may be in a file.
	Machine []string
}

// examplePeople may have a home directory in examples.
func examplePeople() []string { return []string{"u", "you", "user", "dev"} }

// Check returns the lines of the named files that hold a path of some machine.
// A file with a NUL byte is not text and is passed over.
func (p Paths) Check(root fs.FS, files []string) ([]Violation, error) {
	home := regexp.MustCompile(`(?:^|[^A-Za-z0-9_./-])((?:/home|/Users)/([A-Za-z0-9._-]+)/)`)
	superuser := regexp.MustCompile(`(?:^|[^A-Za-z0-9_./-])(/root[/])`)
	var found []Violation
	for _, name := range files {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		if bytes.IndexByte(text, 0) >= 0 {
			continue
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if path := p.inLine(line, home, superuser); path != "" {
				found = append(found, Violation{Rule: "machine paths", File: name, Line: number, What: fmt.Sprintf("names %s", path)})
			}
		}
	}
	return found, nil
}

func (p Paths) inLine(line string, home, superuser *regexp.Regexp) string {
	for _, machine := range p.Machine {
		if strings.Contains(line, machine) {
			return machine
		}
	}
	for _, match := range home.FindAllStringSubmatch(line, -1) {
		if !slices.Contains(examplePeople(), match[2]) {
			return match[1]
		}
	}
	if match := superuser.FindStringSubmatch(line); match != nil {
		return match[1]
	}
	return ""
}
