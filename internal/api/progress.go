package api

// Progress tells how far a verb has come. Over HTTP a client that sends
// "Accept: application/x-ndjson" gets such values, one a line, before the
// result; see docs/json.md.
type Progress struct {
	What  string `json:"what"`            // what is being counted, in words: "reading files", "writing files"
	Done  int64  `json:"done"`            // how many of them are done
	Total int64  `json:"total,omitempty"` // how many there are; 0: not known
}

// Line is one line of an application/x-ndjson reply. Exactly one field is set;
// a Result or an Error is the last line. The others may come at any time.
type Line struct {
	Progress *Progress `json:"progress,omitempty"`
	Result   any       `json:"result,omitempty"`
	Error    *Error    `json:"error,omitempty"`
	Alive    bool      `json:"alive,omitempty"` // the verb still runs; sent every few seconds
}

// Failure is a reply that holds an error: {"error":{...}}.
type Failure struct {
	Error *Error `json:"error"`
}
