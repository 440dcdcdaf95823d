package command

import (
	"bytes"
	"context"
	"strings"

	"github.com/turnback/turnback/internal/cli/screen"
)

// ShowPaged writes text to stdout, through git's pager when stdout is a terminal.
func (d Deps) ShowPaged(ctx context.Context, text *bytes.Buffer, allowed bool) error {
	if allowed && d.Streams.OutTerminal && d.Page != nil && text.Len() > 0 {
		if pager := d.pager(ctx); pager != "" && pager != "cat" {
			if err := d.Page(ctx, pager, bytes.NewReader(text.Bytes())); err == nil {
				return nil
			}
			// A pager that cannot be run must not cost the text.
		}
	}
	_, err := text.WriteTo(d.Streams.Out)
	return err
}

// pager is the command that git would page with: GIT_PAGER, core.pager, PAGER,
// less. Empty: none.
func (d Deps) pager(ctx context.Context) string {
	for _, e := range d.Environ {
		if e == "GIT_PAGER=" {
			return ""
		}
	}
	if p := d.Getenv("GIT_PAGER"); p != "" {
		return p
	}
	if p := d.gitSetting(ctx, "core.pager"); p != "" {
		return p
	}
	for _, e := range d.Environ {
		if e == "PAGER=" {
			return ""
		}
	}
	if p := d.Getenv("PAGER"); p != "" {
		return p
	}
	return "less"
}

// Colour says whether to colour stdout: as the flag says, else as git's color.ui
// and the terminal do. git is asked only where there would be colour.
func (d Deps) Colour(ctx context.Context, when string) bool {
	if !screen.Colour(when, d.Streams.OutTerminal, d.Getenv) {
		return false
	}
	if when == "always" {
		return true
	}
	switch strings.ToLower(d.gitSetting(ctx, "color.ui")) {
	case "never", "false", "no", "off", "0":
		return false
	}
	return true
}

// gitSetting is a value of git's configuration here; empty: not set.
func (d Deps) gitSetting(ctx context.Context, key string) string {
	dir, err := d.Dir()
	if err != nil || d.GitSetting == nil {
		return ""
	}
	return d.GitSetting(ctx, dir, key)
}
