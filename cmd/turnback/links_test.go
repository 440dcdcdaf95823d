package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestProviderLibrariesAreNotLinked: each hook would wait for their start.
func TestProviderLibrariesAreNotLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range strings.Fields(string(out)) {
		if strings.Contains(path, "anthropic-sdk-go") || strings.Contains(path, "openai-go") || strings.Contains(path, "/internal/coder") {
			t.Errorf("turnback links %s, which belongs in turnback-agent", path)
		}
	}
}
