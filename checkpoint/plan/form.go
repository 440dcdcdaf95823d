package plan

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/turnback/turnback/checkpoint/fail"
	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/restore"
)

// likeOnDisk gives merged text, which op writes, the line ends and the encoding
// that the file has on disk. It refuses where git, by what is configured now,
// cannot make such a file.
func (s *Planner) likeOnDisk(ctx context.Context, objects *git.Objects, op *restore.Op) error {
	if op.Old.Raw == "" && !op.Old.CRLF {
		return nil
	}
	var text, was, disk bytes.Buffer
	for id, to := range map[string]*bytes.Buffer{op.New.ID: &text, op.Old.ID: &was, op.Old.Raw: &disk} {
		if id == "" {
			continue
		}
		if _, _, err := objects.Copy(id, to); err != nil {
			return err
		}
	}
	if op.Old.CRLF && !bytes.ContainsRune(text.Bytes(), '\r') {
		op.New.CRLF = true
		return nil
	}
	if op.Old.CRLF {
		disk.WriteString(strings.ReplaceAll(was.String(), "\n", "\r\n"))
	}
	made, ok := withEnds(text.String(), was.String(), disk.String())
	if !ok {
		var err error
		if made, err = s.encoded(ctx, op, text.String(), disk.String()); err != nil {
			return err
		}
	}
	if made == text.String() {
		return nil
	}
	var err error
	op.New.Raw, err = s.Repo.WriteBlob(ctx, []byte(made))
	return err
}

// withEnds gives text the line ends of disk, of which was is the stored form: each
// line that is in both has its own, the others what most have. ok is false where
// the two differ in more than line ends.
func withEnds(text, was, disk string) (made string, ok bool) {
	stored, found := strings.SplitAfter(was, "\n"), strings.SplitAfter(disk, "\n")
	if len(stored) != len(found) {
		return "", false
	}
	known, crlf := map[string][]string{}, 0
	for i, line := range stored {
		switch found[i] {
		case line:
		case withCRLF(line):
			crlf++
		default:
			return "", false
		}
		known[line] = append(known[line], found[i])
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		list := known[line]
		switch {
		case len(list) > 1:
			known[line] = list[1:]
			fallthrough
		case len(list) == 1:
			b.WriteString(list[0])
		case 2*crlf >= len(stored)-1:
			b.WriteString(withCRLF(line))
		default:
			b.WriteString(line)
		}
	}
	return b.String(), true
}

// withCRLF ends a line with "\r\n", if it has an end.
func withCRLF(line string) string {
	if bare, ok := strings.CutSuffix(line, "\n"); ok && !strings.HasSuffix(bare, "\r") {
		return bare + "\r\n"
	}
	return line
}

// encoded makes a file of text by git's own conversions, with the line ends that
// most of disk has, and the same order of bytes.
func (s *Planner) encoded(ctx context.Context, op *restore.Op, text, disk string) (string, error) {
	variants := []string{text}
	if hasWideCRLF(disk) {
		variants = []string{strings.ReplaceAll(text, "\n", "\r\n"), text}
	}
	content := s.Repo.Through(nil) // what a filter has a say in is not merged
	for _, variant := range variants {
		id, err := s.Repo.WriteBlob(ctx, []byte(variant))
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		if err := content.Smudge(ctx, "", op.Path, id, &b); err != nil {
			return "", err
		}
		made := inOrderOf(disk, b.String())
		back, err := content.HashLikePath(ctx, op.Path, strings.NewReader(made))
		if err == nil && back == op.New.ID {
			return made, nil
		}
	}
	return "", &fail.Error{
		Code: fail.Conflicts, Paths: []string{op.Path},
		Message: fmt.Sprintf("both sides changed %q, and git cannot write the merged text in the form that the file has on disk", op.Path),
		Detail:  "see which encoding .gitattributes gives it, or restore the file with --path",
	}
}

// hasWideCRLF tells whether most lines end with "\r\n", of one, or two bytes each.
func hasWideCRLF(disk string) bool {
	ends := strings.Count(disk, "\r\n") + strings.Count(disk, "\r\x00\n") + strings.Count(disk, "\r\x00\x00\x00\n")
	return 2*ends > strings.Count(disk, "\n")
}

// inOrderOf swaps the bytes of made, where that and disk are UTF-16 with marks of
// other byte orders.
func inOrderOf(disk, made string) string {
	const little, big = "\xff\xfe", "\xfe\xff"
	if !(strings.HasPrefix(disk, big) && strings.HasPrefix(made, little) || strings.HasPrefix(disk, little) && strings.HasPrefix(made, big)) {
		return made
	}
	swapped := []byte(made)
	for i := 0; i+1 < len(swapped); i += 2 {
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
	}
	return string(swapped)
}
