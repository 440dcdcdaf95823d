package restore

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/turnback/turnback/internal/git"
)

// Folder is the change of a folder that no file tells of: it is made, or it is
// removed if nothing is in it then.
type Folder struct {
	Path string // relative to the root, raw bytes
	Made bool
	Perm uint32 // its permission bits, with S_IFDIR; 0: what the umask leaves
}

// ReverseFolders gives the changes that take list back.
func ReverseFolders(list []Folder) []Folder {
	out := slices.Clone(list)
	for i := range out {
		out[i].Made = !out[i].Made
	}
	return out
}

// MissingFolders names the folders that ops will have to make, outermost first.
// perm gives the bits that each is to have.
func MissingFolders(root string, ops []Op, perm func(folder string) uint32) []Folder {
	seen := map[string]bool{}
	var out []Folder
	for _, op := range ops {
		if !op.New.Absent() {
			out = append(out, missingAbove(root, op.Path, seen, perm)...)
		}
	}
	return out
}

// missingAbove gives the folders above path that are not there and not in seen.
func missingAbove(root, path string, seen map[string]bool, perm func(folder string) uint32) []Folder {
	var out []Folder
	for i := range path {
		if path[i] != '/' || seen[path[:i]] {
			continue
		}
		if st, err := os.Lstat(root + "/" + path[:i]); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && !st.IsDir() {
			seen[path[:i]] = true
			out = append(out, Folder{Path: path[:i], Made: true, Perm: perm(path[:i])})
		}
	}
	return out
}

// FilledFolders names the folders in which nothing is and into which ops will write,
// with those above them: they go with what is written when that is taken back.
// perm gives the bits that each has.
func FilledFolders(root string, ops []Op, perm func(folder string) uint32) []Folder {
	seen := map[string]bool{}
	var empty []string
	for _, op := range ops {
		if op.New.Absent() || !op.Old.Absent() {
			continue
		}
		for dir := path.Dir(op.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			there, holds := look(root + "/" + dir)
			if there && !holds {
				empty = append(empty, dir)
			}
			if there {
				break
			}
		}
	}
	var out []Folder
	for _, dir := range slices.Sorted(maps.Keys(withAbove(empty))) {
		out = append(out, Folder{Path: dir, Perm: perm(dir)})
	}
	return out
}

// EmptiedFolders names the folders that can go with the last file that ops take out of
// them, but those among known and those that ops write into. perm gives the bits that
// each has.
func EmptiedFolders(root string, ops []Op, known []Folder, perm func(folder string) uint32) []Folder {
	seen := foldersOfNew(ops)
	for _, f := range known {
		seen[f.Path] = true
	}
	var out []Folder
	for _, op := range ops {
		if !op.New.Absent() || op.Old.Absent() {
			continue
		}
		for dir := path.Dir(op.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			out = append(out, Folder{Path: dir, Perm: perm(dir)})
		}
	}
	return out
}

// look tells whether something is at full, and whether something is in it: what is no
// folder, or cannot be read, counts as if.
func look(full string) (there, holds bool) {
	st, err := os.Lstat(full)
	if err != nil || !st.IsDir() {
		return err == nil, true
	}
	dir, err := os.Open(full)
	if err != nil {
		return true, true
	}
	_, err = dir.Readdirnames(1)
	_ = dir.Close()
	return true, !errors.Is(err, io.EOF)
}

// FolderPlan says which folders are to be there that no file tells of. Each list
// has the innermost of each branch.
type FolderPlan struct {
	Have     []string // that are there now
	Want     []string // that are to be there
	Stay     []string // that stay where they are when a file goes out of them
	Ops      []Op
	PermNow  func(folder string) uint32 // the bits that it has, as Folder.Perm
	PermThen func(folder string) uint32 // the bits that it is to have
	Keep     func(folder string) bool   // it stays though it is not wanted
}

// FolderChanges gives what has to be done after the ops. A removal of a folder in
// which something is then does nothing, so those that hold files are not looked for.
func FolderChanges(root string, p FolderPlan) []Folder {
	wanted, stay, seen := withAbove(p.Want), withAbove(p.Stay), map[string]bool{}
	var out []Folder
	for _, dir := range slices.Sorted(maps.Keys(withAbove(p.Have))) {
		if !wanted[dir] && !stay[dir] && !p.Keep(dir) {
			out = append(out, Folder{Path: dir, Perm: p.PermNow(dir)})
		}
	}
	for _, dir := range p.Want {
		out = append(out, missingAbove(root, dir+"/", seen, p.PermThen)...)
	}
	for _, op := range p.Ops {
		for i := range op.Path {
			if dir := op.Path[:i]; op.Path[i] == '/' && op.New.Absent() && stay[dir] && !seen[dir] {
				seen[dir] = true
				out = append(out, Folder{Path: dir, Made: true, Perm: p.PermNow(dir)})
			}
		}
	}
	return out
}

// foldersOfNew are the folders above all that ops write.
func foldersOfNew(ops []Op) map[string]bool {
	var dirs []string
	for _, op := range ops {
		if dir := path.Dir(op.Path); !op.New.Absent() && dir != "." {
			dirs = append(dirs, dir)
		}
	}
	return withAbove(dirs)
}

func withAbove(dirs []string) map[string]bool {
	set := map[string]bool{}
	for _, dir := range dirs {
		set[dir] = true
		for i := range dir {
			if dir[i] == '/' {
				set[dir[:i]] = true
			}
		}
	}
	return set
}

// inOrder sorts changes: what is removed first, innermost first, then what is
// made, outermost first. Each path stands once.
func inOrder(list []Folder) (removed, made []Folder) {
	for _, f := range list {
		if f.Made {
			made = append(made, f)
		} else {
			removed = append(removed, f)
		}
	}
	byPath := func(a, b Folder) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Path, "/"), strings.Count(b.Path, "/")), strings.Compare(a.Path, b.Path))
	}
	slices.SortFunc(made, byPath)
	slices.SortFunc(removed, func(a, b Folder) int { return byPath(b, a) })
	return removed, made
}

func checkFolders(list []Folder) error {
	for _, f := range list {
		if err := git.CheckPath(f.Path); err != nil {
			return &PathError{f.Path, err}
		}
	}
	return nil
}

// folderOnDisk is a Folder in a journal, as opOnDisk is an Op.
type folderOnDisk struct {
	Path string `json:"path,omitempty"`
	Raw  []byte `json:"path_base64,omitempty"`
	Made bool   `json:"made"`
	Perm uint32 `json:"perm,omitempty"`
}

// MarshalJSON writes the path byte for byte.
func (f Folder) MarshalJSON() ([]byte, error) {
	d := folderOnDisk{Path: f.Path, Made: f.Made, Perm: f.Perm}
	if !utf8.ValidString(f.Path) {
		d.Path, d.Raw = "", []byte(f.Path)
	}
	return json.Marshal(d)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Folder) UnmarshalJSON(data []byte) error {
	var d folderOnDisk
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	*f = Folder{Path: d.Path, Made: d.Made, Perm: d.Perm}
	if d.Raw != nil {
		f.Path = string(d.Raw)
	}
	return nil
}
