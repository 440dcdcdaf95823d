package tool

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Limits of a search.
const (
	maxMatches  = 200
	maxFiles    = 500
	maxLine     = 300
	maxSearched = 5 << 20 // a larger file is passed over
)

func (b *Bench) grep(ctx context.Context, call Call) (Result, error) {
	var args struct {
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return Result{}, err
	}
	re, err := regexp.Compile(args.Pattern)
	if err != nil {
		return Result{}, fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	if args.Path == "" {
		args.Path = "."
	}
	at, err := b.place(args.Path)
	if err != nil {
		return Result{}, err
	}
	if err := b.mayReach(ctx, "grep", at); err != nil {
		return Result{}, err
	}
	files, err := b.below(ctx, at)
	if err != nil {
		return Result{}, err
	}
	var found []string
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		found = append(found, matches(re, file, b.shownAs(file), maxMatches+1-len(found))...)
		if len(found) > maxMatches {
			return Said("%s\n[cut: there are more than %d matches]", strings.Join(found[:maxMatches], "\n"), maxMatches), nil
		}
	}
	if len(found) == 0 {
		return Said("No matches."), nil
	}
	return Said("%s", strings.Join(found, "\n")), nil
}

// matches are up to n lines of a file, as path:line:text.
func matches(re *regexp.Regexp, file, shown string, n int) []string {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSearched {
		return nil
	}
	start, err := head(file, 8000)
	if err != nil || !isText(start) {
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	var found []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxSearched+1)
	for i := 1; lines.Scan() && len(found) < n; i++ {
		if re.Match(lines.Bytes()) {
			found = append(found, fmt.Sprintf("%s:%d:%s", shown, i, cutLine(lines.Text())))
		}
	}
	return found
}

func cutLine(line string) string {
	line = strings.ToValidUTF8(strings.TrimSuffix(line, "\r"), "\uFFFD")
	if runes := []rune(line); len(runes) > maxLine {
		return string(runes[:maxLine]) + " ..."
	}
	return line
}

func (b *Bench) glob(ctx context.Context, call Call) (Result, error) {
	var args struct {
		Pattern string `json:"pattern"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return Result{}, err
	}
	if args.Pattern == "" {
		return Result{}, errors.New("the pattern is empty")
	}
	base, pattern := splitGlob(filepath.ToSlash(args.Pattern))
	at, err := b.place(base)
	if err != nil {
		return Result{}, err
	}
	if err := b.mayReach(ctx, "glob", at); err != nil {
		return Result{}, err
	}
	re, err := globExpression(pattern)
	if err != nil {
		return Result{}, err
	}
	files, err := b.below(ctx, at)
	if err != nil {
		return Result{}, err
	}
	var found []string
	for _, file := range files {
		rel, err := filepath.Rel(at.path, file)
		if err != nil || !re.MatchString(filepath.ToSlash(rel)) {
			continue
		}
		if _, err := os.Lstat(file); err == nil { // git lists what was deleted, too
			found = append(found, b.shownAs(file))
		}
	}
	switch {
	case len(found) == 0:
		return Said("No files."), nil
	case len(found) > maxFiles:
		return Said("%s\n[cut: there are %d files]", strings.Join(found[:maxFiles], "\n"), len(found)), nil
	}
	return Said("%s", strings.Join(found, "\n")), nil
}

// splitGlob parts the folders in front of the first wildcard from the rest.
func splitGlob(pattern string) (base, rest string) {
	parts := strings.Split(pattern, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return strings.ContainsAny(part, "*?[{") })
	if i < 0 {
		i = len(parts) - 1
	}
	base = strings.Join(parts[:i], "/")
	switch {
	case base == "" && strings.HasPrefix(pattern, "/"):
		base = "/"
	case base == "":
		base = "."
	}
	return base, strings.Join(parts[i:], "/")
}

// globExpression is the pattern as an expression over a path with slashes.
func globExpression(pattern string) (*regexp.Regexp, error) {
	var re strings.Builder
	re.WriteString("^")
	for i := 0; i < len(pattern); {
		switch {
		case strings.HasPrefix(pattern[i:], "**/"):
			re.WriteString("(?:.*/)?")
			i += 3
		case strings.HasPrefix(pattern[i:], "**"):
			re.WriteString(".*")
			i += 2
		case pattern[i] == '*':
			re.WriteString("[^/]*")
			i++
		case pattern[i] == '?':
			re.WriteString("[^/]")
			i++
		default:
			i += globToken(&re, pattern[i:])
		}
	}
	re.WriteString("$")
	compiled, err := regexp.Compile(re.String())
	if err != nil {
		return nil, fmt.Errorf("the pattern %q cannot be read", pattern)
	}
	return compiled, nil
}

// globToken writes a class, a choice or a plain piece, and says how long it was.
func globToken(re *strings.Builder, rest string) int {
	if end := strings.IndexByte(rest, ']'); rest[0] == '[' && end > 1 {
		class := rest[1:end]
		if class[0] == '!' {
			class = "^" + class[1:]
		}
		re.WriteString("[" + strings.ReplaceAll(class, `\`, `\\`) + "]")
		return end + 1
	}
	if end := strings.IndexByte(rest, '}'); rest[0] == '{' && end > 0 {
		choices := strings.Split(rest[1:end], ",")
		for i := range choices {
			choices[i] = regexp.QuoteMeta(choices[i])
		}
		re.WriteString("(?:" + strings.Join(choices, "|") + ")")
		return end + 1
	}
	end := strings.IndexAny(rest[1:], "*?[{") + 1
	if end <= 0 {
		end = len(rest)
	}
	re.WriteString(regexp.QuoteMeta(rest[:end]))
	return end
}

// below lists the files at a place, absolute and in order.
func (b *Bench) below(ctx context.Context, at place) ([]string, error) {
	info, err := os.Stat(at.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s", at.shown)
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{at.path}, nil
	}
	if at.outside || b.Files == nil {
		return walk(ctx, at.path)
	}
	known, err := b.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	var files []string
	for _, rel := range known {
		full := filepath.Join(b.Root, rel)
		if !strings.HasSuffix(rel, "/") && (at.path == b.Root || strings.HasPrefix(full, at.path+string(filepath.Separator))) {
			files = append(files, full)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

func walk(ctx context.Context, root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path != root:
			return nil // what cannot be read is passed over
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Type().IsRegular():
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// shownAs is a path as the model gives it: relative to the working directory when
// it is below.
func (b *Bench) shownAs(path string) string {
	rel, err := filepath.Rel(b.Dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return filepath.ToSlash(rel)
}
