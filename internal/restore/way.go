package restore

import (
	"io/fs"
	"path/filepath"
	"strings"
)

// InTheWay names what stands where a new file is to be written and is not in ours: at
// most that many.
func InTheWay(root, file string, ours map[string]bool, most int) ([]string, error) {
	st, above, err := Stands(root, file)
	switch {
	case err != nil:
		return nil, err
	case above != "":
		if ours[above] {
			return nil, nil
		}
		return []string{above}, nil
	case st == nil:
		return nil, nil
	case !st.IsDir():
		return []string{file}, nil
	}
	return notOursBelow(root, file, ours, most)
}

// notOursBelow names the files below a folder that are not ours.
func notOursBelow(root, dir string, ours map[string]bool, most int) ([]string, error) {
	var found []string
	err := filepath.WalkDir(filepath.Join(root, dir), func(full string, d fs.DirEntry, err error) error {
		if err != nil {
			found = append(found, dir)
			return fs.SkipAll
		}
		rel := strings.TrimPrefix(full, root+"/")
		if !d.IsDir() && !ours[rel] {
			if found = append(found, rel); len(found) >= most {
				return fs.SkipAll
			}
		}
		return nil
	})
	return found, err
}
