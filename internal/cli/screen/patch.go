package screen

import (
	"bufio"
	"bytes"
	"io"
	"strconv"
	"strings"
)

// PatchStyle says how a unified diff is shown.
type PatchStyle struct {
	Colour  bool // git's default colours
	Visible bool // for a terminal: control characters of the text are shown, not sent
}

const (
	sgrReset = "\x1b[m"
	sgrMeta  = "\x1b[1m"
	sgrFrag  = "\x1b[36m"
	sgrOld   = "\x1b[31m"
	sgrNew   = "\x1b[32m"
)

// Patch writes a unified diff. Without a style it is written byte for byte, so
// that git apply takes it.
func Patch(w io.Writer, patch []byte, style PatchStyle) error {
	if !style.Colour && !style.Visible {
		_, err := w.Write(patch)
		return err
	}
	out := bufio.NewWriter(w)
	var p patchPlace
	for len(patch) > 0 {
		line, rest, found := bytes.Cut(patch, []byte{'\n'})
		patch = rest
		writePatchLine(out, string(line), p.next(string(line)), style)
		if found {
			_ = out.WriteByte('\n') // a bufio.Writer keeps its first error for Flush
		}
	}
	return out.Flush()
}

func writePatchLine(out *bufio.Writer, line, sgr string, style PatchStyle) {
	if style.Visible {
		line = visible(line, "\t")
	}
	if !style.Colour || sgr == "" {
		_, _ = out.WriteString(line)
		return
	}
	_, _ = out.WriteString(sgr + line + sgrReset)
}

// patchPlace follows a patch line by line: a line that starts with "---" is a
// removed line inside a hunk and a header outside of one.
type patchPlace struct {
	oldLeft, newLeft int
	binary           bool // the body of a binary patch, until the next file
}

func (p *patchPlace) next(line string) string {
	if p.oldLeft > 0 || p.newLeft > 0 {
		return p.inHunk(line)
	}
	if strings.HasPrefix(line, "@@ ") {
		p.oldLeft, p.newLeft = hunkCounts(line)
		return sgrFrag
	}
	switch {
	case strings.HasPrefix(line, "diff --git "):
		p.binary = false
	case line == "GIT binary patch":
		p.binary = true
	}
	if p.binary || strings.HasPrefix(line, `\ `) || line == "" {
		return ""
	}
	return sgrMeta
}

func (p *patchPlace) inHunk(line string) string {
	switch {
	case strings.HasPrefix(line, "-"):
		p.oldLeft--
		return sgrOld
	case strings.HasPrefix(line, "+"):
		p.newLeft--
		return sgrNew
	case strings.HasPrefix(line, `\ `):
		return ""
	default:
		p.oldLeft--
		p.newLeft--
		return ""
	}
}

// hunkCounts reads "@@ -1,3 +1,4 @@": 3 and 4.
func hunkCounts(line string) (before, after int) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return 0, 0
	}
	return rangeCount(fields[1]), rangeCount(fields[2])
}

func rangeCount(field string) int {
	_, count, found := strings.Cut(field, ",")
	if !found {
		return 1
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		return 0
	}
	return n
}

// Colour decides whether to colour. when is auto, always or never; auto means
// on a terminal that knows colours, unless NO_COLOR is set.
func Colour(when string, terminal bool, getenv func(string) string) bool {
	switch when {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
}
