package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/turnback/turnback/internal/api"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	// As an editor does it: a reader sees the whole file or the one before.
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func contains(text, part string) bool { return strings.Contains(text, part) }

// events is a stream under test.
type events struct {
	t      *testing.T
	stream *api.EventStream
}

func (s *server) subscribe() events {
	s.t.Helper()
	stream, err := s.client.Subscribe(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = stream.Close() }) // the daemon may have closed it
	return events{s.t, stream}
}

func (e events) next() api.Event {
	e.t.Helper()
	got := make(chan api.Event, 1)
	failed := make(chan error, 1)
	go func() {
		event, err := e.stream.Next()
		if err != nil {
			failed <- err
			return
		}
		got <- event
	}()
	select {
	case event := <-got:
		return event
	case err := <-failed:
		e.t.Fatalf("the stream ended: %v", err)
	case <-time.After(patience):
		e.t.Fatal("waited in vain for an event")
	}
	return api.Event{}
}

func TestEventsReachEveryReaderInOrder(t *testing.T) {
	s := newServer(t).start()
	a, b := s.subscribe(), s.subscribe()
	for i := range 3 {
		s.publish(api.Event{Type: "state", Turn: i})
	}
	for _, reader := range []events{a, b} {
		for i := range 3 {
			if e := reader.next(); e.Turn != i || e.At.IsZero() {
				t.Errorf("event %+v, want turn %d with a time", e, i)
			}
		}
	}
}

// A reader that does not read must not hold anybody up: publish returns, other
// readers get everything, and the slow one is told how much it has lost.
func TestSlowReaderLosesEventsAndIsTold(t *testing.T) {
	s := newServer(t).start()
	slow := s.subscribe()
	const n = 4000
	reason := strings.Repeat("x", 1000) // more than socket buffers and the queue take
	published := make(chan struct{})
	go func() {
		defer close(published)
		for i := range n {
			s.publish(api.Event{Type: "state", Turn: i, Reason: reason})
		}
	}()
	select {
	case <-published:
	case <-time.After(patience):
		t.Fatal("publish waits for a reader")
	}
	seen, lost, last := 0, 0, -1
	for last < n-1 && seen+lost < n {
		e := slow.next()
		if e.Type == "dropped" {
			lost += e.Count
			last += e.Count
			continue
		}
		if e.Turn != last+1 {
			t.Fatalf("event %d after %d, and %d lost before", e.Turn, last, lost)
		}
		last = e.Turn
		seen++
	}
	if seen+lost != n || lost == 0 {
		t.Errorf("%d seen, %d lost of %d", seen, lost, n)
	}
}

func TestEventsEndWhenTheDaemonStops(t *testing.T) {
	s := newServer(t).start()
	reader := s.subscribe()
	s.end()
	s.wait(nil)
	if _, err := reader.stream.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("error %v, want io.EOF", err)
	}
}

// The saves of a stop are events too: a reader that listens gets them.
func TestEventsOfTheStopItselfArrive(t *testing.T) {
	s := newServer(t).start()
	first := make(chan struct{})
	s.tracker.onClose = func(context.Context) error {
		s.publish(api.Event{Type: "turn_ended", Turn: 5})
		<-first // a stream that ends too early ends here
		s.publish(api.Event{Type: "checkpoint_saved", Turn: 5})
		return nil
	}
	reader := s.subscribe()
	s.end()
	if e := reader.next(); e.Type != "turn_ended" || e.Turn != 5 {
		t.Errorf("event %+v", e)
	}
	close(first)
	if e := reader.next(); e.Type != "checkpoint_saved" || e.Turn != 5 {
		t.Errorf("event %+v", e)
	}
	s.wait(nil)
}

// A stop does not wait for a reader that reads nothing.
func TestStopIsNotHeldUpByAReaderThatDoesNotRead(t *testing.T) {
	s := newServer(t).start()
	s.subscribe()
	for i := range 2000 {
		s.publish(api.Event{Type: "state", Turn: i, Reason: strings.Repeat("x", 1000)})
	}
	begun := time.Now()
	s.end()
	s.wait(nil)
	if took := time.Since(begun); took > patience/2 {
		t.Errorf("the stop took %s", took)
	}
}

func TestEventsAreLinesThatCurlShows(t *testing.T) {
	s := newServer(t).start()
	conn, err := s.options.Socket.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprint(conn, "GET /v1/events HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	var head strings.Builder
	for !strings.HasSuffix(head.String(), "\r\n\r\n") {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		head.WriteString(line)
	}
	if got := head.String(); !contains(got, "200 OK") || !contains(got, "Content-Type: text/event-stream") {
		t.Errorf("the head is %q", got)
	}
	s.publish(api.Event{Type: "restored", Pane: "0a", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	want := "event: restored\ndata: {\"type\":\"restored\",\"at\":\"2026-01-02T03:04:05Z\",\"pane\":\"0a\"}\n\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(in, got); err != nil || string(got) != want {
		t.Errorf("the event is %q, %v, want %q", got, err, want)
	}
}
