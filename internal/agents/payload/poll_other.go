//go:build !unix

package payload

import (
	"os"
	"time"
)

type polled struct {
	file     *os.File
	deadline time.Time
}

func (p polled) Read(b []byte) (int, error) { return untilReader{p.file, p.deadline}.Read(b) }
