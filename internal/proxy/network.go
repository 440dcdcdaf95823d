package proxy

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// Network is how the agent itself would have reached its provider.
type Network struct {
	// Proxy chooses the HTTP proxy of a request, as http.ProxyFromEnvironment
	// does with HTTPS_PROXY and NO_PROXY.
	Proxy func(*http.Request) (*url.URL, error)

	// ExtraCA is a file of certificates (PEM) that are trusted too, as
	// NODE_EXTRA_CA_CERTS names one; empty: none.
	ExtraCA string
}

// How long a connection may take to be there, and rests before it is closed: an
// upstream that closes it first would make the next request fail.
const (
	dialWait = 15 * time.Second
	tlsWait  = 15 * time.Second
	restWait = 30 * time.Second
)

// NewTransport speaks to upstreams, with HTTP/2 where they do.
func NewTransport(n Network) (*http.Transport, error) {
	roots, err := n.roots()
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:               n.Proxy,
		DialContext:         (&net.Dialer{Timeout: dialWait, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: tlsWait,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   true,
		DisableCompression:  true, // what the agent did not ask for it cannot read
		IdleConnTimeout:     restWait,
		MaxIdleConnsPerHost: 16,
		WriteBufferSize:     64 << 10,
		ReadBufferSize:      64 << 10,
	}, nil
}

// roots are the certificates that are trusted; nil: the system's, which
// SSL_CERT_FILE can name.
func (n Network) roots() (*x509.CertPool, error) {
	if n.ExtraCA == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(n.ExtraCA)
	if err != nil {
		return nil, fmt.Errorf("read extra certificates: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificates: %w", err)
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read extra certificates: no certificate in %s", n.ExtraCA)
	}
	return pool, nil
}
