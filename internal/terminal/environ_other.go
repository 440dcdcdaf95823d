//go:build !linux

package terminal

// Variable returns a variable of the environment that process pid was started
// with. This system does not tell.
func Variable(int, string) string { return "" }
