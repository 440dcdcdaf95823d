//go:build unix

package snapshot

import "golang.org/x/sys/unix"

// diskSpace gives the free and the total bytes of the file system at dir.
func diskSpace(dir string) (free, size int64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, 0, err
	}
	block := int64(st.Bsize)
	return int64(st.Bavail) * block, int64(st.Blocks) * block, nil
}
