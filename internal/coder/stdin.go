package coder

import (
	"fmt"
	"io"
	"strings"

	"github.com/turnback/turnback/internal/api"
)

// maxPrompt is the longest prompt that is read from standard input, in bytes.
const maxPrompt = 8 << 20

// ReadPrompt is the prompt that a person gives by -p: the text itself, or for "-"
// what stands on standard input.
func ReadPrompt(given string, stdin io.Reader) (string, error) {
	if given != "-" {
		return given, nil
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxPrompt+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the prompt from standard input: %w", err)
	case len(text) > maxPrompt:
		return "", api.Errorf(api.CodeInvalidParams, "the prompt on standard input has more than %d bytes", maxPrompt).
			WithHint(api.Hint{Param: "prompt", Detail: "put it into a file, and tell the agent to read that"})
	case strings.TrimSpace(string(text)) == "":
		return "", api.Errorf(api.CodeInvalidParams, "there is no prompt on standard input").
			WithHint(api.Hint{Param: "prompt", Detail: "give it by -p TEXT, or write it to the command's standard input"})
	}
	return string(text), nil
}
