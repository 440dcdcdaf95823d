package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// admit makes of a message what the session keeps, in memory and in the file: its
// texts within the limit and valid UTF-8, its base64 data in side files. The one
// that was handed in is not changed.
func (s *Session) admit(m Message) (Message, error) {
	m.Role, m.Origin = Role(valid(string(m.Role))), Origin(valid(string(m.Origin)))
	m.Model, m.Stop = valid(m.Model), valid(m.Stop)
	var err error
	m.Parts, err = s.admitParts(m.Parts)
	return m, err
}

func (s *Session) admitParts(parts []Part) ([]Part, error) {
	parts = slices.Clone(parts)
	for i := range parts {
		if err := s.admitPart(&parts[i]); err != nil {
			return nil, fmt.Errorf("part %d: %w", i+1, err)
		}
	}
	if len(parts) == 0 {
		return nil, nil // as it comes back from the file
	}
	return parts, nil
}

func (s *Session) admitPart(p *Part) error {
	p.Text = cutText(valid(p.Text))
	p.Arguments = cutArguments(valid(p.Arguments))
	for _, text := range []*string{&p.MediaType, &p.Name, &p.CallID, &p.Provider} {
		*text = valid(*text)
	}
	p.Loads = slices.Clone(p.Loads)
	if len(p.Loads) == 0 {
		p.Loads = nil
	}
	var err error
	if p.Content, err = s.admitParts(p.Content); err != nil {
		return err
	}
	if p.Details, err = compact(p.Details); err != nil {
		return fmt.Errorf("details: %w", err)
	}
	if p.Raw, err = compact(p.Raw); err != nil {
		return fmt.Errorf("raw block: %w", err)
	}
	if p.Data == "" {
		return nil
	}
	p.Blob, err = s.keepData(p.Data)
	p.Data = ""
	return err
}

func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// compact is JSON without space between its tokens, as a line has it.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// keepData writes base64 data to a side file and returns their hash.
func (s *Session) keepData(text string) (hash string, err error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", fmt.Errorf("read base64 data: %w", err)
	}
	sum := sha256.Sum256(data)
	hash = hex.EncodeToString(sum[:])
	if err := writeBlob(s.blobs(), hash, data); err != nil {
		return "", fmt.Errorf("write side file: %w", err)
	}
	return hash, nil
}

// blobs is the folder of the session's side files. It is there when one is.
func (s *Session) blobs() string { return blobsOf(s.path) }

func blobsOf(path string) string { return strings.TrimSuffix(path, fileExt) + ".blobs" }

// writeBlob puts a side file in its place, whole and on the disk.
func writeBlob(dir, hash string, data []byte) error {
	path := filepath.Join(dir, hash)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Data is the base64 data of an image or a document of this session. Damaged side
// files are an error.
func (s *Session) Data(p Part) (string, error) {
	if p.Blob == "" {
		return p.Data, nil
	}
	if filepath.Base(p.Blob) != p.Blob {
		return "", fmt.Errorf("read side file: %q is no hash", p.Blob)
	}
	data, err := os.ReadFile(filepath.Join(s.blobs(), p.Blob))
	if err != nil {
		return "", fmt.Errorf("read side file: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.Blob {
		return "", fmt.Errorf("read side file: %s does not have the bytes of its name", p.Blob)
	}
	return base64.StdEncoding.EncodeToString(data), nil
}
