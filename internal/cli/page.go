package cli

import (
	"bytes"
	"context"
)

// page writes text to stdout, through git's pager when stdout is a terminal.
func (d Deps) page(ctx context.Context, text *bytes.Buffer, allowed bool) error {
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
	if dir, err := d.Dir(); err == nil && d.GitSetting != nil {
		if p := d.GitSetting(ctx, dir, "core.pager"); p != "" {
			return p
		}
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
