package snapshot

import "strings"

// IsRestoreTemp tells whether name, of a file or link, is that of a temporary
// file of a restore: ".turnback-<run>-<number>", or that with "-old" behind; run
// is of [a-z0-9-]. Untracked ones are never taken: they belong to a restore that
// runs, or that was killed and will be finished.
func IsRestoreTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, ".turnback-")
	if !ok {
		return false
	}
	rest = strings.TrimSuffix(rest, "-old")
	i := strings.LastIndexByte(rest, '-')
	if i < 1 || i == len(rest)-1 {
		return false
	}
	return strings.Trim(rest[:i], "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && strings.Trim(rest[i+1:], "0123456789") == ""
}
