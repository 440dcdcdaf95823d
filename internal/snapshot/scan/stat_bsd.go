//go:build unix && !linux

package scan

import "golang.org/x/sys/unix"

func toStat(st *unix.Stat_t) stat {
	return stat{mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), size: st.Size, ino: uint64(st.Ino), mode: uint32(st.Mode)}
}
