package docs_test

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/turnback/turnback/internal/cli"
	"github.com/turnback/turnback/internal/cli/command"
	"github.com/turnback/turnback/internal/cli/screen"
)

// commands is the whole tree of commands.
func commands() *cobra.Command {
	tree := cli.NewRoot(command.Deps{
		Streams:  screen.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard},
		Commands: []*cobra.Command{cli.NewHookCommand(cli.HookDeps{}), cli.NewSetupCommand(cli.SetupDeps{}), cli.NewProxyCommand(cli.ProxyDeps{}), cli.NewRunCommand(cli.RunDeps{})},
	})
	tree.InitDefaultHelpCmd()
	tree.InitDefaultCompletionCmd()
	return tree
}

func each(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		each(c, visit)
	}
}

// told gives the command lines of the program in a page: those of its blocks,
// and those between backquotes.
func told(p page) [][]string {
	blocks, rest := p.blocks()
	var lines []string
	for _, b := range blocks {
		if b.kind != "" {
			continue
		}
		for line := range strings.Lines(b.text) {
			lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "$ "))
		}
	}
	lines = append(lines, code(rest)...)
	var found [][]string
	for _, line := range lines {
		if words := split(line); len(words) > 1 && words[0] == "turnback" && words[1][0] != '<' {
			found = append(found, words[1:])
		}
	}
	return found
}

// split parts a line into words as a shell does, as far as the pages go: quotes,
// and an end at a comment, a pipe or a redirection.
func split(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`).FindAllString(line, -1) {
		if strings.HasPrefix(m, "#") || m == "|" || m == ">" || m == "<" {
			break
		}
		words = append(words, strings.Trim(m, `'"`))
	}
	return words
}

// TestCommandsThatAreToldExist parses every command line in the pages.
func TestCommandsThatAreToldExist(t *testing.T) {
	t.Parallel()
	tree := commands()
	count := 0
	for _, p := range pages(t) {
		for _, words := range told(p) {
			if words[0] == "COMMAND" {
				continue
			}
			count++
			if why := wrong(tree, words); why != "" {
				t.Errorf("%s tells of turnback %s: %s", p.name, strings.Join(words, " "), why)
			}
		}
	}
	if count < 100 {
		t.Errorf("only %d command lines were found", count)
	}
}

// wrong says what is wrong with a command line; empty: nothing is.
func wrong(tree *cobra.Command, words []string) string {
	cmd, rest, err := tree.Find(words)
	if err != nil {
		return err.Error()
	}
	if cmd == tree && !strings.HasPrefix(words[0], "-") {
		return "there is no such command"
	}
	if len(rest) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(rest[0], "-") {
		return cmd.CommandPath() + " has no command " + rest[0]
	}
	cmd.InitDefaultHelpFlag()
	for _, word := range rest {
		if word == "--" {
			break // what follows belongs to another program
		}
		name, _, _ := strings.Cut(word, "=")
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case isLong && cmd.Flags().Lookup(long) == nil,
			!isLong && len(name) == 2 && name[0] == '-' && cmd.Flags().ShorthandLookup(name[1:]) == nil:
			return cmd.CommandPath() + " has no flag " + name
		}
	}
	return ""
}

// TestManualTellsOfEveryCommandAndFlag goes the other way.
func TestManualTellsOfEveryCommandAndFlag(t *testing.T) {
	t.Parallel()
	p := read(t, manual)
	lines := told(p)
	tree := commands()
	each(tree, func(cmd *cobra.Command) {
		if cmd == tree || !cmd.IsAvailableCommand() || cmd.HasSubCommands() || cmd.Parent().Name() == "completion" {
			return
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		if !slices.ContainsFunc(lines, func(words []string) bool { return slices.Equal(words[:min(len(words), len(path))], path) }) {
			t.Errorf("%s has no example of %s", p.name, cmd.CommandPath())
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden && !regexp.MustCompile(`--`+f.Name+`\b`).MatchString(p.text) {
				t.Errorf("%s does not tell of %s --%s", p.name, cmd.CommandPath(), f.Name)
			}
		})
	})
}

// TestWrongCommandLinesAreSeen is the control: what the tests above must find.
func TestWrongCommandLinesAreSeen(t *testing.T) {
	t.Parallel()
	text := "`turnback undu`\n\n```\n$ turnback checkpoint lst\nturnback undo --all   # no\nturnback checkpoint diff -z | cat\nturnback ls\n```\n"
	var found []string
	for _, words := range told(page{text: text}) {
		if wrong(commands(), words) != "" {
			found = append(found, strings.Join(words, " "))
		}
	}
	want := []string{"checkpoint lst", "undo --all", "checkpoint diff -z", "undu"}
	if !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
