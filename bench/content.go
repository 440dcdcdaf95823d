package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
)

const (
	filesPerDir = 13
	// A group of folders is one and two nested below it.
	nested = 3
	// fan is how many folders stand beside each other.
	fan = 20
)

// filePath is the path of tracked file i: four to six folders deep, about
// filesPerDir in each.
func filePath(i int) string {
	dir := i / filesPerDir
	group := dir / nested
	path := fmt.Sprintf("src/area-%02d/part-%02d/unit-%02d", group/(fan*fan), group/fan%fan, group%fan)
	for range dir % nested {
		path += "/sub"
	}
	return fmt.Sprintf("%s/file-%02d.txt", path, i%filesPerDir)
}

// text makes text that looks like a person's, the same at every run.
type text struct{ random *rand.Rand }

// newText makes the source of text of a file; -1 is not a tracked file's.
func newText(file int) text {
	return text{random: rand.New(rand.NewPCG(uint64(file+1), generator))}
}

// size is the size of a tracked file: 1 to 8 KB.
func (t text) size() int { return 1000 + t.random.IntN(7001) }

// bytes makes n bytes of lines of words, about as compressible as source code.
func (t text) bytes(n int) []byte {
	const letters = "etaoinshrdlucmfwypvbgkqjxz"
	out := make([]byte, 0, n)
	column := 0
	for len(out) < n {
		word := t.random.Uint64()
		length := 2 + int(word%8)
		word >>= 3
		for range length {
			out = append(out, letters[min(word%32, word%26)%26])
			word = word>>5 | word<<59
		}
		if column += length + 1; column > 70 {
			column = 0
			out = append(out, '\n')
			continue
		}
		out = append(out, ' ')
	}
	out = out[:n]
	out[n-1] = '\n'
	return out
}

// importer writes a stream for git fast-import.
type importer struct{ *bufio.Writer }

// commit writes one commit of n files.
func (w *importer) commit(n int) error {
	const message = "Import"
	fmt.Fprintf(w, "commit refs/heads/main\ncommitter Bench <bench@example.com> 1790000000 +0000\ndata %d\n%s\n", len(message), message)
	for i := range n {
		t := newText(i)
		data := t.bytes(t.size())
		fmt.Fprintf(w, "M 100644 inline %s\ndata %d\n", filePath(i), len(data))
		if _, err := w.Write(append(data, '\n')); err != nil {
			return err
		}
	}
	if _, err := w.WriteString("done\n"); err != nil {
		return err
	}
	return w.Flush()
}
