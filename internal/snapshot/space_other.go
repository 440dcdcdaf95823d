//go:build !unix

package snapshot

import "math"

// diskSpace knows nothing of the disk here.
func diskSpace(string) (free, size int64, err error) { return math.MaxInt64, 0, nil }
