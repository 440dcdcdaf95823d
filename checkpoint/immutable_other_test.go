//go:build !linux

package checkpoint_test

import "errors"

func setImmutable(string, bool) error { return errors.ErrUnsupported }
