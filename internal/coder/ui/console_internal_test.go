package ui

import (
	"testing"

	"github.com/turnback/turnback/internal/coder/tool"
)

func TestAQuestionShowsTheWhole(t *testing.T) {
	got := question(tool.Ask{Line: "run echo ...", Whole: "echo\x1b[2J\r hi\nrm -rf x"})
	if want := "? run echo ...\n    echo[2J hi\n    rm -rf x\n? that, as it stands above,"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := question(tool.Ask{Line: "write a (1 lines)"}); got != "? write a (1 lines)" {
		t.Errorf("got %q", got)
	}
}
