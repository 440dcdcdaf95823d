package terminal

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// procZombie is SZOMB of <sys/proc.h>.
const procZombie = 5

// ttyMajor is the major number of pseudo terminals (/dev/ttys*).
const ttyMajor = 16

// Lookup reads the entry of process pid.
func Lookup(pid int) (Process, error) {
	if pid <= 0 {
		return Process{}, errors.New("no such process")
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	boot, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return Process{}, fmt.Errorf("read boot id: %w", err)
	}
	start := info.Proc.P_starttime
	p := Process{
		PID:     pid,
		Parent:  int(info.Eproc.Ppid),
		Name:    unix.ByteSliceToString(info.Proc.P_comm[:]),
		TTY:     ttyName(info.Eproc.Tdev),
		Started: fmt.Sprintf("%s:%d.%06d", boot, start.Sec, start.Usec),
		Zombie:  info.Proc.P_stat == procZombie,
	}
	if leader, err := unix.Getsid(pid); err == nil {
		p.Session = leader
	}
	return p, nil
}

func ttyName(dev int32) string {
	if dev == -1 || dev == 0 {
		return ""
	}
	major, minor := unix.Major(uint64(uint32(dev))), unix.Minor(uint64(uint32(dev)))
	if major == ttyMajor {
		return fmt.Sprintf("/dev/ttys%03d", minor)
	}
	return fmt.Sprintf("dev:%d:%d", major, minor)
}

// lookup is Lookup, where that costs nothing more.
func lookup(pid int) (Process, error) { return Lookup(pid) }
