//go:build !unix

package settingsfile

// lock does nothing on a system without flock: Apply looks at the file once
// more before it writes.
func (f File) lock() (unlock func() error, err error) { return func() error { return nil }, nil }
