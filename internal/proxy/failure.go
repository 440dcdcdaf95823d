package proxy

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// failure is an answer of the proxy's own.
type failure struct {
	status int
	text   string
}

// fail answers with an error in the provider's shape, so that the agent shows
// its text. It says who speaks: a person looks for the fault there.
func (s *Server) fail(w http.ResponseWriter, f *failure) {
	body, err := json.Marshal(s.o.Provider.failure(f.status, "turnback proxy: "+f.text))
	if err != nil {
		panic(http.ErrAbortHandler) // strings and numbers: cannot happen
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(f.status)
	_, _ = w.Write(body) // a client that is gone misses nothing
}

func (p Provider) failure(status int, text string) any {
	switch p {
	case Anthropic:
		kind := "api_error"
		switch status {
		case http.StatusNotFound:
			kind = "not_found_error"
		case http.StatusForbidden:
			kind = "permission_error"
		case http.StatusBadRequest, http.StatusMethodNotAllowed:
			kind = "invalid_request_error"
		}
		return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": text}}
	case Gemini:
		kind := "UNAVAILABLE"
		switch status {
		case http.StatusNotFound:
			kind = "NOT_FOUND"
		case http.StatusForbidden:
			kind = "PERMISSION_DENIED"
		case http.StatusBadRequest, http.StatusMethodNotAllowed:
			kind = "INVALID_ARGUMENT"
		case http.StatusGatewayTimeout:
			kind = "DEADLINE_EXCEEDED"
		}
		return map[string]any{"error": map[string]any{"code": status, "message": text, "status": kind}}
	default:
		kind := "server_error"
		if status < http.StatusInternalServerError {
			kind = "invalid_request_error"
		}
		return map[string]any{"error": map[string]any{"message": text, "type": kind, "param": nil, "code": nil}}
	}
}
