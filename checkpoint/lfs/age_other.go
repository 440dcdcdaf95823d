//go:build !unix

package lfs

import (
	"io/fs"
	"time"
)

func keptAt(st fs.FileInfo) time.Time { return st.ModTime() }
