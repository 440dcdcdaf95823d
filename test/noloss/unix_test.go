//go:build unix

package noloss

import "golang.org/x/sys/unix"

func (w *world) pipe() { _ = unix.Mkfifo(w.room(w.path()), 0o644) }
