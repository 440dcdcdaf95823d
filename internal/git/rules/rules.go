// Package rules has the ignore rules of git that are in no work tree.
package rules

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Rules are the ignore rules that are not in the work tree.
type Rules struct {
	Exclude    []byte // the content of info/exclude
	Global     []byte // the content of the file that core.excludesFile names
	IgnoreCase bool   // core.ignoreCase
}

// Same tells whether r and q say the same.
func (r *Rules) Same(q *Rules) bool {
	return r.IgnoreCase == q.IgnoreCase && bytes.Equal(r.Exclude, q.Exclude) && bytes.Equal(r.Global, q.Global)
}

// LayOut makes a git directory of dir, an empty folder, that has no rules but these.
func (r *Rules) LayOut(dir string) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	var err error
	for _, folder := range []string{"objects", "refs", "info"} {
		err = errors.Join(err, os.Mkdir(at(folder), 0o700))
	}
	config := fmt.Sprintf("[core]\n\texcludesFile = %s\n\tignoreCase = %t\n", quoteValue(at("global")), r.IgnoreCase)
	for name, content := range map[string][]byte{
		"HEAD": []byte("ref: refs/heads/none\n"), "config": []byte(config), "info/exclude": r.Exclude, "global": r.Global,
	} {
		err = errors.Join(err, os.WriteFile(at(name), content, 0o600))
	}
	return err
}

// quoteValue writes a value as it stands in a config file.
func quoteValue(v string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(v) + `"`
}
