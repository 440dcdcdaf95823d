package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/coder/provider"
)

// What a library returns for a connection can hold the address, and so a key in it.
func TestAKeyIsMaskedInWhatALibraryReturns(t *testing.T) {
	const key = "secret-0123456789"
	p := provider.Place{Model: "m", URL: "http://host/" + key + "/v1", Key: key + "\n", KeyVar: "KEY", URLVar: "URL"}
	for _, e := range []*provider.Error{
		p.Failed(errors.New("no route to "+key), 0, ""), p.Failed(nil, 401, "Bearer "+key), p.Failed(nil, 500, strings.Repeat("x", 290)+key),
		p.NoKey(), p.CutOff(), p.Stranger("text/html"),
	} {
		if strings.Contains(e.Error()+e.Hint, key[:9]) {
			t.Errorf("the key is told: %s", e.Text)
		}
	}
	// A key of two letters is in every word.
	p = provider.Place{Model: "m", URL: "http://host/v1", Key: "no"}
	if e := p.Failed(errors.New("no route"), 0, ""); !strings.Contains(e.Text, "no route") {
		t.Errorf("told: %s", e.Text)
	}
}
