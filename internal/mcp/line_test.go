package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/turnback/turnback/internal/api"
	"github.com/turnback/turnback/internal/mcp"
)

// A line that is no message is answered, and the server goes on: the tools of a
// session do not end with it.
func TestALineThatIsNoMessageIsAnswered(t *testing.T) {
	const none = "null"
	tests := []struct {
		name, line, id string
		code           int
	}{
		{"no JSON", `hello`, none, -32700},
		{"half a value", `{"jsonrpc":"2.0","id":7,`, none, -32700},
		{"two values", `{"jsonrpc":"2.0","id":7,"method":"ping"}{}`, none, -32700},
		{"no UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"x\":\"\xff\"}", none, -32700},
		{"deeper than anybody nests", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), none, -32700},
		{"longer than anything", `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"` + strings.Repeat("x", 65<<20) + `"}}`, none, -32600},
		{"a batch", `[{"jsonrpc":"2.0","id":7,"method":"ping"}]`, none, -32600},
		{"an empty batch", `[]`, none, -32600},
		{"null", `null`, none, -32600},
		{"a number", `7`, none, -32600},
		{"no method", `{"jsonrpc":"2.0","id":7}`, "7", -32600},
		{"a method that is no text", `{"jsonrpc":"2.0","id":"a","method":7}`, `"a"`, -32600},
		{"an id that is none", `{"jsonrpc":"2.0","id":[7],"method":"ping"}`, none, -32600},
		{"an id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5", -32600},
		{"an id with an exponent", `{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, "1e2", -32600},
		{"an id that is too large", `{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}`, "99999999999999999999", -32600},
		{"an id of null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, none, -32600},
		{"another JSON-RPC", `{"id":7,"method":"ping"}`, "7", -32600},
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	d := &daemon{answer: func(string, []byte) (any, error) { return api.ConversationCallResult{Texts: []string{"ok"}}, nil }}
	ended := make(chan error, 1)
	go func() {
		ended <- mcp.ServeConversation(t.Context(), mcp.Options{In: fromClient, Out: toClient, Caller: d, Dir: "/home/u"}, true)
		_ = toClient.Close()
	}()
	answers := bufio.NewReader(fromServer)
	ask := func(line string) (id string, code int) {
		t.Helper()
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(toServer, line+"\n")
			sent <- err
		}()
		text, err := answers.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the server ended: %v", <-ended)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		var answer struct {
			JSONRPC string
			ID      json.RawMessage
			Error   struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal(text, &answer); err != nil || answer.JSONRPC != "2.0" {
			t.Fatalf("answer %s, %v", text, err)
		}
		if answer.Error.Code != 0 && answer.Error.Message == "" {
			t.Errorf("it does not say why: %s", text)
		}
		return string(answer.ID), answer.Error.Code
	}
	for i, test := range tests {
		if id, code := ask(test.line); id != test.id || code != test.code {
			t.Errorf("%s: answer %d to id %s, want %d to %s", test.name, code, id, test.code, test.id)
		}
		ping := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, 100+i)
		if id, code := ask("\n \r\n" + ping + "  \r"); id != fmt.Sprint(100+i) || code != 0 {
			t.Fatalf("after %s a ping gets %d to id %s", test.name, code, id)
		}
	}
	if err := toServer.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end of the client: %v", err)
	}
}
