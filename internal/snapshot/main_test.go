package snapshot_test

import (
	"os"
	"testing"

	"github.com/turnback/turnback/internal/testutil/seed"
)

func TestMain(m *testing.M) { os.Exit(seed.Main(m)) }
