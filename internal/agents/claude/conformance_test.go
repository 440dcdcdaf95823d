package claude

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/testutil/agenttest"
)

func TestConformance(t *testing.T) {
	files, err := filepath.Glob("testdata/payloads/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	var samples []agenttest.Sample
	for _, file := range files {
		object := fixture(t, strings.TrimSuffix(filepath.Base(file), ".json"))
		s := agenttest.Sample{Event: event(t, object), Object: string(object)}
		r, err := Adapter{}.Parse(s.Event, object, noEnv)
		if err != nil {
			t.Fatal(err)
		}
		s.Kind = r.Kind // TestParse says which it has to be
		samples = append(samples, s)
	}
	agenttest.Run(t, Name, New(), samples)
}
