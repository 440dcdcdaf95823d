package scan

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
)

// attributeFile is a file that gives attributes to paths.
type attributeFile struct {
	path string // absolute
	stat stat
}

// attributeText is the content of an attribute file, kept while its stat data
// hold: which words it has is asked at every save.
type attributeText struct {
	stat stat
	text []byte
}

// noteAttributes takes note of the attribute file of n.
func (w walker) noteAttributes(path string, list []found) {
	i, ok := slices.BinarySearchFunc(list, ".gitattributes", func(f found, s string) int { return strings.Compare(f.name, s) })
	if !ok {
		return
	}
	w.mu.Lock()
	w.attributes = append(w.attributes, attributeFile{w.s.abs(join(path, ".gitattributes")), list[i].stat})
	w.mu.Unlock()
}

// mentioned tells whether an attribute file has one of words, so that it may be
// worth while to ask git for an attribute.
func (p *pass) mentioned(words ...string) bool {
	files := p.attributes
	for _, path := range p.s.outsideAttributes(p.outside.attributes) {
		if k, st, err := lstat(path); err == nil && k != absent {
			if k == link {
				st = stat{} // what it leads to may change while it does not
			}
			files = append(files, attributeFile{path, st})
		}
	}
	kept := make(map[string]attributeText, len(files))
	found := false
	for _, f := range files {
		t, ok := p.s.attributes[f.path]
		if !ok || t.stat != f.stat || f.stat == (stat{}) || p.isYoung(f.stat) {
			text, err := os.ReadFile(f.path)
			if err != nil {
				found = true // git may be able to
			}
			t = attributeText{f.stat, text}
		}
		kept[f.path] = t
		found = found || slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(t.text, []byte(w)) })
	}
	p.s.attributes = kept
	return found
}

// outsideAttributes are the places of attribute files that are in no work tree;
// users is the setting core.attributesFile.
func (s *Scanner) outsideAttributes(users string) []string {
	if users == "" {
		users = s.userFile("attributes")
	}
	prefix := filepath.Dir(filepath.Dir(s.repo.Git().Path()))
	return []string{
		filepath.Join(s.repo.CommonDir, "info", "attributes"), users,
		"/etc/gitattributes", filepath.Join(prefix, "etc", "gitattributes"),
	}
}

// guard takes those files out of list whose filters may not run, unless they are
// as the user's index has them.
func (p *pass) guard(list []work) ([]work, error) {
	if len(list) == 0 || !p.mentioned("filter") {
		return list, nil
	}
	var files []snapshot.Guarded
	for _, w := range list {
		if w.kind != regular {
			continue
		}
		f := snapshot.Guarded{Path: w.path, Perm: os.FileMode(w.stat.mode & 0o777), Size: w.stat.size}
		if e := w.at.find(w.name); w.tracked && !e.has(fConflict) {
			f.Index = git.Entry{Path: w.path, Mode: e.idxMode, ID: e.idxID.text(p.s.repo.IDLen)}
			f.Blind = e.has(fAssume)
		}
		files = append(files, f)
	}
	gate := snapshot.Gate{Repo: p.s.repo, Filters: p.outside.filters, FileMode: p.outside.fileMode}
	verdicts, err := gate.Judge(p.ctx, files)
	if err != nil {
		return nil, err
	}
	kept := list[:0]
	for _, w := range list {
		v, named := verdicts[w.path]
		switch {
		case !named || v.Filter != "":
			w.filter = v.Filter
			kept = append(kept, w)
		case v.LeftOut():
			p.leaveFile(w, snapshot.Filter)
		default:
			e := w.at.find(w.name)
			w.at.take(e, v.Same.Mode, parseOID(v.Same.ID))
			w.at.reform(e, formFiltered, oid{})
			if v.Bytes {
				w.at.reform(e, formSame, oid{})
			}
			e.held = w.stat.size
			p.settle(e, w.stat, p.began)
		}
	}
	return kept, nil
}

// converts tells whether git may change the content of files as it stores them,
// by their line ends, their encoding or $Id$.
func (p *pass) converts() bool {
	return p.outside.autocrlf || p.mentioned("text", "crlf", "eol", "ident", encodingAttr)
}
