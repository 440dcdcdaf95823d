package api_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
)

// impatient is how long the clients of these tests bear silence.
const impatient = 200 * time.Millisecond

// quiet is a handler that says first and then nothing until its caller leaves.
func quiet(first string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if first != "" {
			w.Header().Set("Content-Type", api.NDJSON)
			_, _ = io.WriteString(w, first)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	}
}

func TestADaemonThatIsSilent(t *testing.T) {
	for name, first := range map[string]string{"from the start": "", "after a while": `{"progress":{"what":"x","done":1}}` + "\n"} {
		t.Run(name, func(t *testing.T) {
			c := serve(t, quiet(first)).Patient(impatient)
			err := c.Call(t.Context(), "undo", nil, nil, nil)
			e := api.AsError(err)
			if !errors.Is(err, api.ErrSilent) || e.Code != api.CodeTimeout || e.Hint == nil || e.Hint.Detail == "" {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A daemon that is stopped does not even accept.
func TestADaemonThatDoesNotAccept(t *testing.T) {
	s := api.Socket{Path: filepath.Join(shortDir(t), "s"), UID: os.Getuid()}
	l, err := net.Listen("unix", s.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = api.NewClient(s).Patient(impatient).Call(t.Context(), "undo", nil, nil, nil)
	if !errors.Is(err, api.ErrSilent) {
		t.Errorf("call: %v", err)
	}
	if _, err = api.NewClient(s).Patient(impatient).Subscribe(t.Context()); !errors.Is(err, api.ErrSilent) {
		t.Errorf("subscribe: %v", err)
	}
}

func TestSignsOfLifeKeepACallUp(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", api.NDJSON)
		for range 8 {
			_, _ = io.WriteString(w, `{"alive":true}`+"\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(impatient / 4) // the daemon works
		}
		_, _ = io.WriteString(w, `{"result":{"pid":7}}`+"\n")
	}).Patient(impatient)
	var got api.StopDaemonResult
	seen := 0
	err := c.Call(t.Context(), "undo", nil, &got, func(api.Progress) { seen++ })
	if err != nil || got.PID != 7 || seen != 0 {
		t.Errorf("result %+v, %d notes of progress, error %v", got, seen, err)
	}
}

func TestEventsMayBeRare(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(2 * impatient) // nothing happens
		_, _ = io.WriteString(w, "data: {\"type\":\"state\"}\n\n")
	}).Patient(impatient)
	stream, err := c.Subscribe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if e, err := stream.Next(); err != nil || e.Type != "state" {
		t.Errorf("event %+v, error %v", e, err)
	}
}
