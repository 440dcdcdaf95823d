package tool

import (
	"io/fs"
	"sync"
	"time"
)

// Shown remembers which files a model has in front of it, so that the same text
// is not sent twice. What leaves the conversation has to be forgotten: see
// [Shown.Keep].
type Shown struct {
	mu    sync.Mutex
	files map[string]showing // by path
}

type showing struct {
	call    string // whose result holds the text
	version version
}

// version tells a file from what it was.
type version struct {
	size int64
	at   time.Time
}

// NewShown remembers nothing yet.
func NewShown() *Shown { return &Shown{files: map[string]showing{}} }

func versionOf(info fs.FileInfo) version { return version{info.Size(), info.ModTime()} }

func (s *Shown) has(path string, v version) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown, ok := s.files[path]
	// A file that is written right now may get the same time twice.
	return ok && shown.version == v
}

func (s *Shown) add(call, path string, v version) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(v.at) < racy {
		delete(s.files, path)
		return
	}
	s.files[path] = showing{call, v}
}

// racy is how young a file is too young to be told from its next version.
const racy = 100 * time.Millisecond

func (s *Shown) drop(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.files, path)
}

// Keep forgets everything but what the results of these calls have shown: a
// rewind or a compaction has taken the others out of the conversation.
func (s *Shown) Keep(calls map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, shown := range s.files {
		if !calls[shown.call] {
			delete(s.files, path)
		}
	}
}
