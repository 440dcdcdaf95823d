//go:build !unix

package api

import "io/fs"

// owner is the user id that a file belongs to; -1: not known.
func owner(fs.FileInfo) int { return -1 }
