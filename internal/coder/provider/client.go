package provider

import (
	"net/http"
	"time"
)

// answerTime is how long a provider may take until an answer begins.
const answerTime = 10 * time.Minute

// Client makes the requests to a provider. It knows proxies as other programs do.
func Client() *http.Client {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return &http.Client{}
	}
	t = t.Clone()
	t.ResponseHeaderTimeout = answerTime
	return &http.Client{Transport: t}
}
