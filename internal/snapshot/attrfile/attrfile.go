// Package attrfile looks for words in attribute files, at every save, and reads
// only those that changed.
package attrfile

import (
	"bytes"
	"os"
	"slices"
)

// File is a file that gives attributes to paths.
type File struct {
	Path  string // absolute
	Stamp any    // comparable: the content is the same while it is; nil: it may be another each time
}

// Cache is the content of the files that were asked for last. The zero value is
// ready to use.
type Cache struct{ known map[File][]byte }

// Mention tells whether one of files has one of words. A file that cannot be read
// may have any.
func (c *Cache) Mention(files []File, words []string) bool {
	known := make(map[File][]byte, len(files))
	found := false
	for _, f := range files {
		text, ok := c.known[f]
		if !ok || f.Stamp == nil {
			var err error
			if text, err = os.ReadFile(f.Path); err != nil {
				found = true
				continue
			}
		}
		known[f] = text
		found = found || slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(text, []byte(w)) })
	}
	c.known = known
	return found
}
