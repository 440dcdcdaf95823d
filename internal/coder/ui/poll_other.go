//go:build !unix

package ui

import "os"

// wait lets the reading wait itself.
func wait(*os.File) (bool, error) { return true, nil }
