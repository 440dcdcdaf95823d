// Package manpage writes manual pages of commands, from the same texts as their
// --help.
package manpage

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Page is one manual page.
type Page struct {
	Name string // turnback-checkpoint-list.1
	Text string // roff
}

// Pages makes a page of root and of every command below it that help shows.
func Pages(root *cobra.Command, version string) []Page {
	root.InitDefaultHelpFlag()
	pages := []Page{{Name: fileName(root), Text: page(root, version)}}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			pages = append(pages, Pages(c, version)...)
		}
	}
	return pages
}

func title(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func fileName(cmd *cobra.Command) string { return title(cmd) + ".1" }

func page(cmd *cobra.Command, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"turnback manual\"\n", argument(strings.ToUpper(title(cmd))), argument("turnback "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", escape(title(cmd)), escape(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", escape(cmd.UseLine()))
	b.WriteString(".SH DESCRIPTION\n" + description(cmd.Long))
	commands(&b, cmd)
	flags(&b, "OPTIONS", cmd.NonInheritedFlags())
	flags(&b, "OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n" + verbatim(cmd.Example))
	}
	seeAlso(&b, cmd)
	return b.String()
}

func commands(b *strings.Builder, cmd *cobra.Command) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	b.WriteString(".SH COMMANDS\n")
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(c.Use), escape(c.Short))
		}
	}
}

func flags(b *strings.Builder, heading string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + heading + "\n")
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		if kind != "" {
			name += " " + kind
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape(name), escape(usage))
	})
}

func seeAlso(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, title(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, title(c))
		}
	}
	if len(names) == 0 {
		return
	}
	for i, n := range names {
		names[i] = "\\fB" + escape(n) + "\\fR(1)"
	}
	b.WriteString(".SH SEE ALSO\n" + strings.Join(names, ", ") + "\n")
}

// description turns a help text into paragraphs. Indented lines stay as they
// are laid out.
func description(long string) string {
	var b strings.Builder
	for i, part := range strings.Split(strings.TrimSpace(long), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.Contains(part, "\n  ") || strings.HasPrefix(part, "  ") {
			b.WriteString(verbatim(part))
			continue
		}
		for line := range strings.SplitSeq(part, "\n") {
			b.WriteString(escape(line) + "\n")
		}
	}
	return b.String()
}

func verbatim(text string) string {
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(escape(line) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// escape makes text mean itself in roff, at the start of a line too.
func escape(s string) string {
	s = strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func argument(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }
