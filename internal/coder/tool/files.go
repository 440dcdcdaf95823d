package tool

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/turnback/turnback/conversation/session"
)

// Limits of what a file is read of.
const (
	maxLines  = 2_000
	maxBytes  = 200_000
	maxImage  = 4 << 20
	maxEdited = 32 << 20
)

func (b *Bench) read(ctx context.Context, call Call) (Result, error) {
	var args struct {
		Path string `json:"path"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return Result{}, err
	}
	at, err := b.place(args.Path)
	if err != nil {
		return Result{}, err
	}
	if err := b.mayReach(ctx, "read", at); err != nil {
		return Result{}, err
	}
	info, err := regular(at)
	if err != nil {
		return Result{}, err
	}
	if media := imageType(at.path); media != "" {
		return readImage(at, info, media)
	}
	data, err := head(at.path, maxBytes+1)
	if err != nil {
		return Result{}, err
	}
	if !isText(data) {
		return Result{}, fmt.Errorf("%s is no text", at.shown)
	}
	version := versionOf(info)
	if b.Shown.has(at.path, version) {
		return Said("%s has not changed since it was read above.", at.shown), nil
	}
	text, cut := firstLines(string(data))
	b.Shown.add(call.ID, at.path, version)
	if cut {
		text += fmt.Sprintf("\n[cut: %s has %d bytes; see the rest by grep, or by sed -n in bash]", at.shown, info.Size())
	}
	if text == "" {
		text = "[the file is empty]"
	}
	return Result{Parts: []session.Part{session.Text(text)}}, nil
}

// regular refuses what would hang or is no file.
func regular(at place) (fs.FileInfo, error) {
	info, err := os.Stat(at.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no %s", at.shown)
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; list it by glob", at.shown)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", at.shown)
	}
	return info, nil
}

func head(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, n))
}

// firstLines keeps what the limits allow, in whole lines where there are lines.
func firstLines(text string) (kept string, cut bool) {
	if len(text) > maxBytes {
		text, cut = text[:maxBytes], true
		if end := strings.LastIndexByte(text, '\n'); end >= 0 {
			text = text[:end+1]
		}
		text = strings.ToValidUTF8(text, "")
	}
	lines := 0
	for i := range len(text) {
		if text[i] != '\n' {
			continue
		}
		if lines++; lines == maxLines && i+1 < len(text) {
			return text[:i+1], true
		}
	}
	return text, cut
}

func isText(data []byte) bool {
	start := data[:min(len(data), 8000)]
	if bytes.IndexByte(start, 0) >= 0 {
		return false
	}
	for len(start) > 0 && !utf8.RuneStart(start[len(start)-1]) {
		start = start[:len(start)-1] // a character may be cut
	}
	return utf8.Valid(start[:max(0, len(start)-1)]) || len(data) == 0
}

func imageType(path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	}
	return ""
}

func readImage(at place, info fs.FileInfo, media string) (Result, error) {
	if info.Size() > maxImage {
		return Result{}, fmt.Errorf("%s has %d bytes, more than an image may have", at.shown, info.Size())
	}
	data, err := os.ReadFile(at.path)
	if err != nil {
		return Result{}, err
	}
	part := session.Part{Kind: session.KindImage, MediaType: media, Data: base64.StdEncoding.EncodeToString(data)}
	return Result{Parts: []session.Part{session.Text(at.shown), part}}, nil
}

func (b *Bench) write(ctx context.Context, call Call) (Result, error) {
	var args struct {
		Path    string `json:"path"`
		Content string `json:"content"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return Result{}, err
	}
	at, err := b.place(args.Path)
	if err != nil {
		return Result{}, err
	}
	lines := strings.Count(args.Content, "\n")
	line := fmt.Sprintf("write %s (%d lines)", at.shown, lines)
	if err := b.mayWrite(ctx, "write", at, line, func() string { return overwritten(at, args.Content) }); err != nil {
		return Result{}, err
	}
	if info, err := os.Stat(at.path); err == nil && !info.Mode().IsRegular() {
		return Result{}, fmt.Errorf("%s is no regular file", at.shown)
	}
	if err := os.MkdirAll(filepath.Dir(at.path), 0o777); err != nil {
		return Result{}, err
	}
	if err := replace(at.path, []byte(args.Content)); err != nil {
		return Result{}, err
	}
	b.Shown.drop(at.path)
	return Said("Wrote %s, %d bytes.", at.shown, len(args.Content)), nil
}

// mayWrite asks before a file is changed.
func (b *Bench) mayWrite(ctx context.Context, tool string, at place, line string, diff func() string) error {
	if at.outside {
		return b.Permit(ctx, Ask{Tool: tool, Line: outsideLine(tool, at), Diff: diff, Outside: true})
	}
	return b.Permit(ctx, Ask{Tool: tool, Line: line, Diff: diff})
}

// overwritten shows what a file loses and gets. Out of the work tree not even a look
// is taken without asking.
func overwritten(at place, content string) string {
	if at.outside {
		return changeOf("", content)
	}
	info, err := os.Stat(at.path)
	if err != nil || !info.Mode().IsRegular() {
		return changeOf("", content)
	}
	data, err := head(at.path, maxEdited+1)
	if err != nil || len(data) > maxEdited || !isText(data) {
		return fmt.Sprintf("[in the place of %d bytes that cannot be shown]\n", info.Size()) + changeOf("", content)
	}
	return changeOf(string(data), content)
}

// replace writes a file in its place, so that its mode and its links stay.
func replace(path string, data []byte) error {
	return os.WriteFile(path, data, 0o666)
}

func (b *Bench) edit(ctx context.Context, call Call) (Result, error) {
	var args struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
	}
	if err := decode(call.Arguments, &args); err != nil {
		return Result{}, err
	}
	at, err := b.place(args.Path)
	if err != nil {
		return Result{}, err
	}
	// Out of the work tree not even a look is taken without asking.
	before, changed := args.Old, args.New
	if !at.outside {
		if before, changed, err = edited(at, args.Old, args.New); err != nil {
			return Result{}, err
		}
	}
	if err := b.mayWrite(ctx, "edit", at, "edit "+at.shown, func() string { return changeOf(before, changed) }); err != nil {
		return Result{}, err
	}
	now, changed, err := edited(at, args.Old, args.New)
	switch {
	case err != nil:
		return Result{}, err
	case now != before && !at.outside:
		return Result{}, fmt.Errorf("%s was changed while the user was asked; read it again", at.shown)
	}
	if err := replace(at.path, []byte(changed)); err != nil {
		return Result{}, err
	}
	b.Shown.drop(at.path)
	return Said("Edited %s.", at.shown), nil
}

// edited is a file as it is, and as it will be.
func edited(at place, before, after string) (now, then string, err error) {
	info, err := regular(at)
	if err != nil {
		return "", "", err
	}
	if info.Size() > maxEdited {
		return "", "", fmt.Errorf("%s is too large to edit", at.shown)
	}
	data, err := os.ReadFile(at.path)
	if err != nil {
		return "", "", err
	}
	then, err = exchange(string(data), before, after, at.shown)
	return string(data), then, err
}

// exchange replaces the one place of old. In a file with CRLF a text with plain
// line feeds is found too.
func exchange(text, before, after, name string) (string, error) {
	switch {
	case before == "":
		return "", errors.New("the old text is empty; write makes a file")
	case before == after:
		return "", errors.New("the old text and the new one are the same")
	}
	if strings.Contains(text, "\r\n") && !strings.Contains(before, "\r\n") && !strings.Contains(text, before) {
		before, after = strings.ReplaceAll(before, "\n", "\r\n"), strings.ReplaceAll(after, "\n", "\r\n")
	}
	switch n := strings.Count(text, before); n {
	case 0:
		return "", fmt.Errorf("the old text is not in %s", name)
	case 1:
		return strings.Replace(text, before, after, 1), nil
	default:
		return "", fmt.Errorf("the old text is %d times in %s; give more of what is around it", n, name)
	}
}
