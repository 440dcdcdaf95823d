package beside

import (
	"errors"
	"fmt"
)

// ErrMalformed says that what is kept beside a checkpoint is not as it should be.
var ErrMalformed = errors.New("what is kept beside is malformed")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}
