package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/turnback/turnback/conversation/session"
	"github.com/turnback/turnback/internal/coder/provider"
	"github.com/turnback/turnback/internal/coder/provider/openai"
	"github.com/turnback/turnback/internal/testutil/fakemodel"
)

// What a user shows is sent as it is, in its place; the result of a tool can hold a
// text alone, which says what is missing.
func TestImagesAreSentWhereTheAPITakesThem(t *testing.T) {
	s := fakemodel.StartChat(t, fakemodel.ChatReply{Text: "ok"})
	m := openai.New(openai.Options{Name: "m", BaseURL: s.URL, Data: func(p session.Part) (string, error) { return "QUJD" + p.Name, nil }})
	image := session.Part{Kind: session.KindImage, MediaType: "image/png"}
	document := session.Part{Kind: session.KindDocument, MediaType: "application/pdf", Name: "a.pdf"}
	call := session.Part{Kind: session.KindCall, CallID: "c1", Name: "read", Arguments: `{"path":"b.png"}`}
	result := session.Part{Kind: session.KindResult, CallID: "c1", Content: []session.Part{session.Text("b.png"), image}}
	r := provider.Request{Messages: []session.Message{
		{Role: session.RoleUser, Parts: []session.Part{session.Text("look at"), image, session.Text("and"), document}},
		{Role: session.RoleAssistant, Parts: []session.Part{call}},
		{Role: session.RoleTool, Parts: []session.Part{result}},
	}}
	if _, err := m.Answer(t.Context(), r, func(string) {}); err != nil {
		t.Fatal(err)
	}
	messages := s.Requests()[0].Messages
	want := []string{
		`[{"type":"text","text":"look at"},{"type":"image_url","image_url":{"url":"data:image/png;base64,QUJD"}},` +
			`{"type":"text","text":"and"},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,QUJDa.pdf"}}]`,
		"",
		`"b.png\n[image image/png: it is not shown to you, since this endpoint takes none in the result of a tool]"`,
	}
	for i, content := range want {
		if got := string(json.RawMessage(messages[i].Content)); got != content {
			t.Errorf("message %d holds %s, want %s", i, got, content)
		}
	}
}
