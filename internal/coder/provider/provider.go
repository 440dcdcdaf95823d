// Package provider is what our agent needs of a model: a conversation goes in,
// a message comes out in pieces. A folder for each kind of provider speaks to it
// by the provider's own library.
package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

	"github.com/turnback/turnback/conversation/session"
)

// Model is a model that answers. It is safe for several goroutines.
type Model interface {
	// Name is PROVIDER/NAME, as the person gives it.
	Name() string

	// Ready is nil, or an *Error that says what is missing before the model can be
	// asked at all.
	Ready() error

	// ReminderRole is the role of the messages that the host adds.
	ReminderRole() session.Role

	// Size is how many bytes the messages have in a request.
	Size(messages []session.Message) (int, error)

	// Answer asks for the next message. Pieces of its text go to said as they
	// come, in the calling goroutine. When the context ends, or the connection
	// breaks in the middle, the reply holds what had come whole, and the error
	// is there too; calls whose arguments were cut off are not among it. Other
	// errors are an *Error.
	Answer(ctx context.Context, r Request, said func(string)) (Reply, error)
}

// Request is what a model is asked.
type Request struct {
	System   string
	Messages []session.Message // as the session gives them: pairs in order
	Tools    []Tool
}

// Tool is a tool that a model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of its arguments, an object
}

// Reply is what a model answered.
type Reply struct {
	Message session.Message // of the assistant; its Stop is in the provider's word
	Usage   Usage
	Bytes   int // of the request
	// CutShort says that the model stopped because its answer had grown too long.
	CutShort bool
	// Declined says that the model, or a filter behind it, would not answer.
	Declined bool
}

// Usage is what the provider counted, in tokens. Zero: it told nothing.
type Usage struct {
	Input  int64 `json:"input"` // all of the request, cached parts included
	Cached int64 `json:"cached"`
	Output int64 `json:"output"`
}

// Kind says what kept a model from answering.
type Kind string

// The kinds of errors.
const (
	KindNoKey     Kind = "no_key"
	KindRefused   Kind = "refused" // no connection
	KindAuth      Kind = "auth"
	KindLimit     Kind = "limit" // too many requests, or overloaded
	KindModel     Kind = "model" // no such model
	KindTooLong   Kind = "too_long"
	KindSignature Kind = "signature" // a signed block of an earlier message was not taken
	KindStranger  Kind = "stranger"  // what answered does not speak the API
	KindEmpty     Kind = "empty"     // an answer with neither a text nor a call
	KindDeclined  Kind = "declined"  // the model would not answer
	KindOther     Kind = "other"
)

// Error is why a model did not answer, in words for a person.
type Error struct {
	Kind   Kind
	Status int    // HTTP; 0: there was no answer
	Text   string // lower case, no full stop
	Hint   string // what to do; may be empty
	Err    error
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// IsKind says whether an error is of that kind.
func IsKind(err error, kind Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

// Place is where a provider is reached, as its errors tell it.
type Place struct {
	Model  string // without the provider
	URL    string
	Key    string // never told: a provider may say it again in an error
	KeyVar string // environment variable with the key
	URLVar string // environment variable with the base URL
}

// NoKey is the error for a provider that cannot be asked without one.
func (p Place) NoKey() *Error {
	return &Error{Kind: KindNoKey, Text: "there is no key for " + p.shown(), Hint: "set " + p.KeyVar}
}

// Stranger is the error for an answer that holds not one event of the API. The type
// is that of its content, as its header says.
func (p Place) Stranger(contentType string) *Error {
	what := "no event that it knows"
	if media, _, err := mime.ParseMediaType(contentType); err == nil && media != "text/event-stream" {
		what = media + " in the place of events"
	}
	return &Error{
		Kind: KindStranger, Text: p.shown() + " does not answer as a model's API: it sent " + what,
		Hint: "is " + p.URLVar + " right, with its path?",
	}
}

// shown is the address without what is secret in it.
func (p Place) shown() string {
	u, err := url.Parse(p.URL)
	if err != nil {
		return p.hide(p.URL)
	}
	return p.hide(u.Redacted())
}

// leastSecret is how long a key is at least, in bytes: shorter ones would take
// pieces out of common words.
const leastSecret = 6

// hide takes the key out of a text.
func (p Place) hide(text string) string {
	if key := strings.TrimSpace(p.Key); len(key) >= leastSecret {
		return strings.ReplaceAll(text, key, "***")
	}
	return text
}

// Failed is the error for what a library returned. Message is the provider's own,
// status that of its answer, 0 when there was none.
func (p Place) Failed(err error, status int, message string) *Error {
	e := &Error{Kind: KindOther, Status: status, Err: err}
	said := p.hide(strings.Join(strings.Fields(message), " "))
	lower := strings.ToLower(said)
	broken, isBroken := errors.AsType[*json.SyntaxError](err)
	switch {
	case status == 0 && isBroken:
		stranger := p.Stranger("")
		stranger.Text, stranger.Err = p.shown()+" does not answer as a model's API: an event is no JSON: "+broken.Error(), err
		return stranger
	case status == 0:
		e.Kind, e.Text = KindRefused, "no answer from "+p.shown()+": "+firstRunes(p.hide(cause(err)), 300)
		e.Hint = "is it running, and is " + p.URLVar + " right?"
		return e
	case status == 401 || status == 403:
		e.Kind, e.Text, e.Hint = KindAuth, p.shown()+" does not take the key", "check "+p.KeyVar
	case status == 429 || status == 529:
		e.Kind, e.Text, e.Hint = KindLimit, p.shown()+" takes no more requests now", "wait, or look at the limits of the account"
	case strings.Contains(lower, "signature") && status == 400:
		e.Kind, e.Text = KindSignature, "the provider does not take a signed block of an earlier message"
	case tooLong(lower) && (status == 400 || status == 413):
		e.Kind, e.Text = KindTooLong, "the conversation is too long for "+p.Model
	case status == 404, strings.Contains(lower, "model") && (strings.Contains(lower, "not found") || strings.Contains(lower, "does not exist")):
		e.Kind, e.Text, e.Hint = KindModel, p.shown()+" knows no model "+p.Model, "name another one by --model"
	default:
		e.Text = p.shown() + " answered with an error"
		if said == "" && status >= 400 {
			e.Text = fmt.Sprintf("%s answered with status %d", p.shown(), status)
		}
	}
	if said != "" {
		e.Text += ": " + firstRunes(said, 300)
	}
	return e
}

// CutOff is the error for an answer that ended in its midst.
func (p Place) CutOff() *Error {
	return &Error{Kind: KindRefused, Text: p.shown() + " broke off in the middle of an answer", Hint: "say go on"}
}

// Declined is the error for an answer in which the model would not answer.
func Declined(r Reply) *Error {
	return &Error{
		Kind: KindDeclined, Text: r.Message.Model + " declined to answer" + stopped(r),
		Hint: "ask in other words, or name another model by --model",
	}
}

// Empty is the error for an answer that holds neither a text nor a call.
func Empty(r Reply) *Error {
	e := &Error{Kind: KindEmpty, Text: r.Message.Model + " gave an empty answer" + stopped(r), Hint: "ask again, or name another model by --model"}
	if r.CutShort {
		e.Hint = "it thought for longer than an answer may grow: ask for less at once"
	}
	return e
}

// stopped is why an answer ended, in the provider's word.
func stopped(r Reply) string {
	if r.Message.Stop == "" {
		return ""
	}
	return " (" + r.Message.Stop + ")"
}

func tooLong(message string) bool {
	for _, words := range []string{"prompt is too long", "context length", "context_length", "context window", "maximum context", "too many tokens", "exceeds the available context"} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// cause is the innermost error: what is around it names the URL once more.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i] + "..."
		}
		n--
	}
	return text
}
