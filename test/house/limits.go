package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// The budgets. When one pinches, split by meaning.
const (
	maxPackageLines     = 3000
	maxFileLines        = 600
	maxFunctionLines    = 100
	maxInterfaceMethods = 7
)

func checkPackageSize(s *Source) []Violation {
	lines := map[string]int{}
	for _, f := range s.Files {
		if !f.Test {
			lines[f.Dir()] += f.Lines
		}
	}
	var found []Violation
	for dir, n := range lines {
		if n > maxPackageLines {
			found = append(found, Violation{File: dir, What: fmt.Sprintf("package has %d lines, at most %d", n, maxPackageLines)})
		}
	}
	return found
}

func checkFileSize(s *Source) []Violation {
	var found []Violation
	for _, f := range s.Files {
		if f.Lines > maxFileLines {
			found = append(found, Violation{File: f.Path, What: fmt.Sprintf("file has %d lines, at most %d", f.Lines, maxFileLines)})
		}
	}
	return found
}

func checkFunctionSize(s *Source) []Violation {
	var found []Violation
	for _, f := range s.Files {
		if f.Test {
			continue
		}
		for _, decl := range f.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.line(function.End()) - s.line(function.Pos()) + 1; n > maxFunctionLines {
				found = append(found, s.violation(f, function.Pos(), "%s has %d lines, at most %d", function.Name.Name, n, maxFunctionLines))
			}
		}
	}
	return found
}

// checkInterfaceSize counts the methods of an interface, with those of
// interfaces that it embeds from the same package. One from elsewhere counts
// as one method.
func checkInterfaceSize(s *Source) []Violation {
	local := map[string]*ast.InterfaceType{} // by directory and name
	for _, f := range s.Files {
		eachInterface(f, func(name string, it *ast.InterfaceType, _ token.Pos) {
			local[f.Dir()+" "+name] = it
		})
	}
	var found []Violation
	for _, f := range s.Files {
		eachInterface(f, func(name string, it *ast.InterfaceType, at token.Pos) {
			if n := methods(local, f.Dir(), it); n > maxInterfaceMethods {
				found = append(found, s.violation(f, at, "interface %s has %d methods, at most %d", name, n, maxInterfaceMethods))
			}
		})
	}
	return found
}

// eachInterface visits every interface of a file; one without a name is called
// "interface{...}".
func eachInterface(f *File, visit func(name string, it *ast.InterfaceType, at token.Pos)) {
	named := map[*ast.InterfaceType]bool{}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			if it, ok := n.Type.(*ast.InterfaceType); ok {
				named[it] = true
				visit(n.Name.Name, it, n.Pos())
			}
		case *ast.InterfaceType:
			if !named[n] {
				visit("interface{...}", n, n.Pos())
			}
		}
		return true
	})
}

func methods(local map[string]*ast.InterfaceType, dir string, it *ast.InterfaceType) int {
	count := 0
	for _, field := range it.Methods.List {
		switch t := field.Type.(type) {
		case *ast.FuncType:
			count += len(field.Names)
		case *ast.Ident:
			if embedded, ok := local[dir+" "+t.Name]; ok && embedded != it {
				count += methods(local, dir, embedded)
			} else if t.Name == "error" {
				count++
			}
		case *ast.SelectorExpr:
			count++
		}
	}
	return count
}

func checkInit(s *Source) []Violation {
	var found []Violation
	for _, f := range s.shipped() {
		for _, decl := range f.Decls {
			if function, ok := decl.(*ast.FuncDecl); ok && function.Recv == nil && function.Name.Name == "init" {
				found = append(found, s.violation(f, function.Pos(), "init function"))
			}
		}
	}
	return found
}

func checkGlobals(s *Source) []Violation {
	var found []Violation
	for _, f := range s.shipped() {
		for _, decl := range f.Decls {
			group, ok := decl.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				found = append(found, s.globals(f, group, spec.(*ast.ValueSpec))...)
			}
		}
	}
	return found
}

func (s *Source) globals(f *File, group *ast.GenDecl, spec *ast.ValueSpec) []Violation {
	if isEmbedded(group.Doc) || isEmbedded(spec.Doc) {
		return nil
	}
	var found []Violation
	for i, name := range spec.Names {
		switch {
		case name.Name == "_": // an assertion: holds nothing
		case i < len(spec.Values) && isSentinel(name.Name, spec.Values[i]):
		default:
			found = append(found, s.violation(f, name.Pos(), "package variable %s", name.Name))
		}
	}
	return found
}

// isSentinel says whether a variable is an error made once, by its name and by
// how it is made.
func isSentinel(name string, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok || !strings.HasPrefix(name, "Err") && !strings.HasPrefix(name, "err") {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	if !ok {
		return false
	}
	made := x.Name + "." + selector.Sel.Name
	return made == "errors.New" || made == "fmt.Errorf"
}

func isEmbedded(doc *ast.CommentGroup) bool {
	if doc == nil {
		return false
	}
	for _, comment := range doc.List {
		if strings.HasPrefix(comment.Text, "//go:embed ") {
			return true
		}
	}
	return false
}
