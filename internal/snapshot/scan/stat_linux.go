package scan

import "golang.org/x/sys/unix"

func toStat(st *unix.Stat_t) stat {
	return stat{mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), size: st.Size, ino: st.Ino, mode: st.Mode}
}
