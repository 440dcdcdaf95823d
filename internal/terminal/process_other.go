//go:build !linux && !darwin

package terminal

// Lookup reads the entry of process pid. This system does not tell.
func Lookup(int) (Process, error) { return Process{}, ErrUnsupported }

// lookup is Lookup, where that costs nothing more.
func lookup(pid int) (Process, error) { return Lookup(pid) }
