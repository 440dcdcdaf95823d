// Package fault breaks what a save or a restore stands on, at every place in
// turn: git fails, hangs, or lies; the disk is full or cannot be written; the
// process is killed. After each the person's things are as they were or as they
// were to be, nothing is lost, no ref holds half a checkpoint, and the next
// command works.
package fault
