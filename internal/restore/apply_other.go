//go:build !unix

package restore

import (
	"context"
	"errors"
	"os"
)

// errSystem is the answer where files cannot be swapped in safely yet.
var errSystem = errors.New("restoring is not available on this system yet")

// Apply carries out ops. It is not available here.
func (r *Run) Apply(context.Context, []Op, []int) ([]int, error) { return nil, errSystem }

// Holds tells whether op's path holds what f says. It is not available here.
func (r *Run) Holds(context.Context, string, File) (bool, error) { return false, errSystem }

// Stands tells what stands at path. It is not available here.
func Stands(string, string) (os.FileInfo, string, error) { return nil, "", errSystem }

// CleanUp removes what a killed run left. It is not available here.
func (r *Run) CleanUp(context.Context, []Op) ([]string, error) { return nil, errSystem }

// Folders carries changes of folders out. It is not available here.
func (r *Run) Folders([]Folder) []string { return nil }
