package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Source is a parsed module.
type Source struct {
	Module string // the module's path
	Files  []*File
	fset   *token.FileSet
}

// File is one Go file.
type File struct {
	Path  string // slash-separated, relative to the root
	Test  bool   // its name ends in _test.go
	Lines int
	*ast.File
}

// Dir is the file's package directory; the root is ".".
func (f *File) Dir() string { return path.Dir(f.Path) }

// Read parses every Go file of a module, whatever its build constraints. It
// does not enter testdata, hidden folders, or folders that are modules of
// their own.
func Read(root fs.FS) (*Source, error) {
	module, err := modulePath(root)
	if err != nil {
		return nil, err
	}
	s := &Source{Module: module, fset: token.NewFileSet()}
	err = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if outside(root, name) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		return s.add(root, name)
	})
	return s, err
}

func outside(root fs.FS, dir string) bool {
	base := path.Base(dir)
	if dir == "." {
		return false
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil || base == "testdata" || base == "node_modules" || base[0] == '.' || base[0] == '_'
}

func modulePath(root fs.FS) (string, error) {
	text, err := fs.ReadFile(root, "go.mod")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if module, ok := strings.CutPrefix(line, "module "); ok {
			return strings.TrimSpace(module), nil
		}
	}
	return "", fmt.Errorf("go.mod names no module")
}

func (s *Source) add(root fs.FS, name string) error {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	parsed, err := parser.ParseFile(s.fset, name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	s.Files = append(s.Files, &File{
		Path:  name,
		Test:  strings.HasSuffix(name, "_test.go"),
		Lines: bytes.Count(text, []byte("\n")),
		File:  parsed,
	})
	return nil
}

// shipped yields the files that end up in the program or a library: no tests,
// no test helpers, no measuring programs.
func (s *Source) shipped() []*File {
	var files []*File
	for _, f := range s.Files {
		if !f.Test && !isTestOnly(f.Dir()) {
			files = append(files, f)
		}
	}
	return files
}

// isTestOnly says whether a package exists for tests and measurements alone.
func isTestOnly(dir string) bool {
	for _, root := range []string{"internal/testutil", "test", "bench"} {
		if dir == root || strings.HasPrefix(dir, root+"/") {
			return true
		}
	}
	return false
}

func (s *Source) line(at token.Pos) int { return s.fset.Position(at).Line }

func (s *Source) violation(f *File, at token.Pos, format string, args ...any) Violation {
	return Violation{File: f.Path, Line: s.line(at), What: fmt.Sprintf(format, args...)}
}

// ours returns the directory of an import of this module's own.
func (s *Source) ours(importPath string) (string, bool) {
	if importPath == s.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, s.Module+"/")
}

func importPath(spec *ast.ImportSpec) string {
	text, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(err) // the parser took it
	}
	return text
}

// uses returns every place of the file that names something of a standard
// package, as Name.Member.
func (f *File) uses(pkg string, visit func(member string, at token.Pos)) {
	name := f.localName(pkg)
	if name == "" {
		return
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == name {
			visit(selector.Sel.Name, selector.Pos())
		}
		return true
	})
}

// localName is what the file calls an imported package; empty when it does not
// import it.
func (f *File) localName(pkg string) string {
	for _, spec := range f.Imports {
		if importPath(spec) != pkg {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(pkg)
	}
	return ""
}
