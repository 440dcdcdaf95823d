package screen

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Confirm asks a question and waits for an answer; anything but yes means no.
func Confirm(s Streams, question string) (bool, error) {
	if _, err := io.WriteString(s.Out, question+" [y/N] "); err != nil {
		return false, err
	}
	answer, err := bufio.NewReader(s.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
