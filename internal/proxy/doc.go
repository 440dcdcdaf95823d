// Package proxy stands on the loopback between one agent and its provider. It
// hands everything through as it comes, and changes one thing: in a request that
// carries the conversation's history, what lies between a checkpoint and its
// rewind is replaced by the report.
//
// It keeps nothing. Keys and bodies pass through memory and are written nowhere;
// what it tells about a request are sizes, token counts and a session's id.
package proxy
