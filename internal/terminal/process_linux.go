package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Lookup reads the entry of process pid.
func Lookup(pid int) (Process, error) {
	p, err := lookup(pid)
	if err != nil {
		return Process{}, err
	}
	boot, err := bootID()
	if err != nil {
		return Process{}, err
	}
	p.Started = boot + ":" + p.Started
	return p, nil
}

// bootID tells this run of the machine from every other.
func bootID() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(boot)), nil
}

// lookup is Lookup with a start time that counts from the machine's start.
func lookup(pid int) (Process, error) {
	if pid <= 0 {
		return Process{}, errors.New("no such process")
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	p, err := parseStat(stat)
	if err != nil {
		return Process{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return p, nil
}

// parseStat reads the line of /proc/<pid>/stat: "pid (name) state ppid pgrp
// session tty_nr ... starttime ...". The name may itself hold blanks and
// parentheses, so the last ")" ends it. Started is the bare start time here.
func parseStat(line []byte) (Process, error) {
	opening, closing := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if opening < 0 || closing < opening {
		return Process{}, errors.New("malformed stat line")
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:opening])))
	if err != nil {
		return Process{}, errors.New("malformed stat line")
	}
	// state is the first field here, starttime the twentieth.
	fields := strings.Fields(string(line[closing+1:]))
	if len(fields) < 20 {
		return Process{}, errors.New("short stat line")
	}
	p := Process{PID: pid, Name: string(line[opening+1 : closing]), Started: fields[19]}
	p.Zombie = fields[0] == "Z" || fields[0] == "X"
	numbers := [4]int{} // ppid, pgrp, session, tty
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(fields[1+i]); err != nil {
			return Process{}, errors.New("malformed stat line")
		}
	}
	p.Parent, p.Session, p.TTY = numbers[0], numbers[2], ttyName(uint32(int32(numbers[3])))
	return p, nil
}

// ttyName turns the kernel's device number (minor in bits 0-7 and 20-31, major
// in bits 8-19) into the device's path.
func ttyName(dev uint32) string {
	if dev == 0 {
		return ""
	}
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	switch {
	case major >= 136 && major <= 143:
		return fmt.Sprintf("/dev/pts/%d", (major-136)<<20|minor)
	case major == 4 && minor < 64:
		return fmt.Sprintf("/dev/tty%d", minor)
	case major == 4:
		return fmt.Sprintf("/dev/ttyS%d", minor-64)
	default:
		return fmt.Sprintf("dev:%d:%d", major, minor)
	}
}

// Variable returns a variable of the environment that process pid was started
// with, or an empty text where it is not set or cannot be read.
func Variable(pid int, name string) string {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(entry, []byte(name+"=")); ok {
			return string(value)
		}
	}
	return ""
}
