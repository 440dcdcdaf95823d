// Package rawdiff reads what git diff-tree prints for programs.
package rawdiff

import (
	"fmt"
	"strconv"
	"strings"
)

// Change is one difference between two trees.
type Change struct {
	Status  byte // A, M, D, T, R
	Path    string
	OldPath string // R: the name before
	OldMode uint32 // 0: absent
	NewMode uint32 // 0: absent
	OldID   string
	NewID   string
	Added   int // lines; only from Stat
	Deleted int
	Binary  bool
}

// Parse reads the records of --raw and --numstat with -z.
func Parse(f []string) ([]Change, error) {
	var changes []Change
	at := map[string]int{}
	for i := 0; i < len(f); {
		if strings.HasPrefix(f[i], ":") {
			c, used, err := parseRecord(f[i:])
			if err != nil {
				return nil, err
			}
			at[c.Path] = len(changes)
			changes = append(changes, c)
			i += used
			continue
		}
		path, added, deleted, used, err := parseNumstat(f[i:])
		if err != nil {
			return nil, err
		}
		if k, ok := at[path]; ok {
			changes[k].Binary = added < 0
			changes[k].Added, changes[k].Deleted = max(added, 0), max(deleted, 0)
		}
		i += used
	}
	return changes, nil
}

// parseRecord reads ":100644 100644 <id> <id> M" and the path or paths.
func parseRecord(f []string) (Change, int, error) {
	w := strings.Split(f[0][1:], " ")
	if len(w) != 5 || len(f) < 2 || w[4] == "" {
		return Change{}, 0, fmt.Errorf("compare trees: unexpected record %.120q", f[0])
	}
	oldMode, err1 := strconv.ParseUint(w[0], 8, 32)
	newMode, err2 := strconv.ParseUint(w[1], 8, 32)
	if err1 != nil || err2 != nil {
		return Change{}, 0, fmt.Errorf("compare trees: unexpected mode in %.120q", f[0])
	}
	c := Change{Status: w[4][0], Path: f[1], OldMode: uint32(oldMode), NewMode: uint32(newMode), OldID: w[2], NewID: w[3]}
	if c.Status != 'R' && c.Status != 'C' {
		return c, 2, nil
	}
	if len(f) < 3 || f[1] == "" || f[2] == "" {
		return Change{}, 0, fmt.Errorf("compare trees: unexpected record %.120q", f[0])
	}
	c.OldPath, c.Path = f[1], f[2]
	return c, 3, nil
}

// parseNumstat reads "1\t2\tpath", or "1\t2\t" with two paths behind it.
func parseNumstat(f []string) (path string, added, deleted, used int, err error) {
	w := strings.SplitN(f[0], "\t", 3)
	if len(w) != 3 {
		return "", 0, 0, 0, fmt.Errorf("compare trees: unexpected record %.120q", f[0])
	}
	added, deleted = -1, -1
	if w[0] != "-" {
		if added, err = strconv.Atoi(w[0]); err == nil {
			deleted, err = strconv.Atoi(w[1])
		}
		if err != nil {
			return "", 0, 0, 0, fmt.Errorf("compare trees: unexpected record %.120q", f[0])
		}
	}
	if w[2] != "" {
		return w[2], added, deleted, 1, nil
	}
	if len(f) < 3 {
		return "", 0, 0, 0, fmt.Errorf("compare trees: unexpected record %.120q", f[0])
	}
	return f[2], added, deleted, 3, nil
}

// ParsePairs reads the records of --stdin --raw with -z, without renames: each pair
// of trees, which ends with a line feed, and what differs. It gives the paths, pair by
// pair. git says nothing at all of a pair that it cannot read: an error here. It writes
// to f.
func ParsePairs(f []string, pairs [][2]string) ([][]string, error) {
	out := make([][]string, 0, len(pairs))
	for len(f) > 0 {
		if strings.HasPrefix(f[0], ":") && len(out) > 0 {
			c, used, err := parseRecord(f)
			if err != nil {
				return nil, err
			}
			at := len(out) - 1
			out[at], f = append(out[at], c.Path), f[used:]
			continue
		}
		rest, ok := cutPair(f[0], pairs, len(out))
		if !ok {
			return nil, fmt.Errorf("compare trees: unexpected record %.120q", f[0])
		}
		out = append(out, nil)
		if f[0] = rest; rest == "" {
			f = f[1:]
		}
	}
	if len(out) < len(pairs) {
		return nil, fmt.Errorf("compare trees: %s and %s cannot be read", pairs[len(out)][0], pairs[len(out)][1])
	}
	return out, nil
}

// cutPair cuts pair number at from the front of a record.
func cutPair(record string, pairs [][2]string, at int) (rest string, ok bool) {
	if at >= len(pairs) {
		return "", false
	}
	if rest, ok = strings.CutPrefix(record, pairs[at][0]+" "+pairs[at][1]); ok && rest != "" {
		return strings.CutPrefix(rest, "\n")
	}
	return rest, ok
}
