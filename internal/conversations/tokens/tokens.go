// Package tokens reckons what rewinds save.
package tokens

import (
	"math"

	"github.com/turnback/turnback/internal/api"
)

// Of is the figures of one request: sizes in bytes of its history, and tokens by
// the provider's own usage. What was sent is told exactly, what would have been is
// estimated from it.
func Of(before, after, tokens int64) api.ConversationTokens {
	t := api.ConversationTokens{Requests: 1, BytesBefore: before, BytesAfter: after, TokensAfter: tokens, TokensBefore: tokens}
	if after > 0 && before != after {
		t.TokensBefore = int64(math.Round(float64(tokens) * float64(before) / float64(after)))
	}
	return t
}

// Add adds t to a sum.
func Add(sum *api.ConversationTokens, t api.ConversationTokens) {
	sum.Requests += t.Requests
	sum.BytesBefore += t.BytesBefore
	sum.BytesAfter += t.BytesAfter
	sum.TokensBefore += t.TokensBefore
	sum.TokensAfter += t.TokensAfter
}
