package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// readLine reads up to the next line feed or the end. Of a line of more than most
// bytes it keeps that many and says so.
func readLine(in *bufio.Reader, most int) (line []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := most - len(line); len(part) > room {
			part, tooLong = part[:room], true
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, tooLong, err
		}
	}
}

// admit is the message of a line, or the answer to a line that has none. Both are
// empty for an empty line.
func admit(line []byte, tooLong bool) (message, answer []byte) {
	line = bytes.TrimSpace(line)
	switch {
	case tooLong:
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message is longer than %d bytes", maxLine))
	case len(line) == 0:
		return nil, nil
	case !utf8.Valid(line):
		return nil, refusal(nil, jsonrpc.CodeParseError, "a line is no UTF-8")
	case !json.Valid(line):
		return nil, refusal(nil, jsonrpc.CodeParseError, "a line is no JSON value")
	case line[0] == '[':
		return nil, refusal(nil, jsonrpc.CodeInvalidRequest, "several messages in one are not taken: send one a line")
	}
	parsed, err := jsonrpc.DecodeMessage(line)
	if r, ok := parsed.(*jsonrpc.Response); err != nil || ok && r.Result == nil && r.Error == nil {
		return nil, refusal(line, jsonrpc.CodeInvalidRequest, "a message is no request of JSON-RPC 2.0")
	}
	if !answerable(line) {
		return nil, refusal(line, jsonrpc.CodeInvalidRequest, "an id is a text, or a whole number of 64 bits")
	}
	return line, nil
}

// answerable says whether an answer would have the id of the message, where it has
// one: the library keeps numbers as whole ones, and takes null for none.
func answerable(line []byte) bool {
	var m struct {
		ID json.RawMessage `json:"id"` // null as it stands, too
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 || m.ID[0] == '"' {
		return true
	}
	_, err := strconv.ParseInt(string(m.ID), 10, 64)
	return err == nil
}

// refusal is an error to the id of a message; to null where it has none that
// could be one.
func refusal(message []byte, code int, text string) []byte {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(message, &m) // where it is no object, there is no id
	var id any
	if len(m.ID) > 0 && strings.ContainsRune(`"-0123456789`, rune(m.ID[0])) {
		id = m.ID
	}
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err != nil { // cannot be: these are plain values
		return nil
	}
	return append(answer, '\n')
}
