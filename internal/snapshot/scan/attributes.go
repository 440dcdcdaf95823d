package scan

import (
	"os"
	"slices"
	"strings"

	"github.com/turnback/turnback/internal/git"
	"github.com/turnback/turnback/internal/snapshot"
	"github.com/turnback/turnback/internal/snapshot/attrfile"
)

// noteAttributes takes note of the attribute file of n. When it is another than
// before, git may make other blobs of all files at and below n.
func (w walker) noteAttributes(n *node, path string, list []found) {
	i, ok := slices.BinarySearchFunc(list, ".gitattributes", func(f found, s string) int { return strings.Compare(f.name, s) })
	var now stat
	if ok {
		now = list[i].stat
	}
	if n.known && (now != n.attributes || n.youngAttributes) {
		n.each(func(_ *node, e *entry) { e.clear(fClean) })
	}
	n.attributes, n.youngAttributes = now, ok && w.isYoung(now)
	if !ok {
		return
	}
	w.mu.Lock()
	w.attributes = append(w.attributes, w.attributeFile(w.s.abs(join(path, ".gitattributes")), list[i].kind, list[i].stat))
	w.mu.Unlock()
}

// mentioned tells whether an attribute file has one of words, so that it may be
// worth while to ask git for an attribute.
func (p *pass) mentioned(words ...string) bool {
	files := p.attributes
	for _, path := range p.outside.Attributes {
		if k, st, err := lstat(path); err == nil && k != absent {
			files = append(files, p.attributeFile(path, k, st))
		}
	}
	return p.s.attributes.Mention(files, words)
}

// attributeFile has no stamp where what it leads to, or what it holds, may change
// while its stat data stay.
func (p *pass) attributeFile(path string, k kind, st stat) attrfile.File {
	f := attrfile.File{Path: path}
	if k != link && !p.isYoung(st) {
		f.Stamp = st
	}
	return f
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
		files = append(files, p.guarded(w))
	}
	verdicts, err := p.gate().Judge(p.ctx, files)
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
			form := formFiltered
			if v.Bytes {
				form = formSame
			}
			p.takeSame(w, v.Same, form)
		}
	}
	return kept, nil
}

func (p *pass) gate() snapshot.Gate {
	return snapshot.Gate{Repo: p.s.repo, Filters: p.outside.Filters, FileMode: p.outside.FileMode}
}

func (p *pass) guarded(w work) snapshot.Guarded {
	f := snapshot.Guarded{Path: w.path, Perm: os.FileMode(w.stat.mode & 0o777), Size: w.stat.size}
	if e := w.at.find(w.name); w.tracked && !e.has(fConflict) {
		f.Index = git.Entry{Path: w.path, Mode: e.idxMode, ID: e.idxID.text(p.s.repo.IDLen)}
		f.Blind = e.has(fAssume)
	}
	return f
}

// takeSame takes w as the user's index has it.
func (p *pass) takeSame(w work, same git.Entry, f form) {
	e := w.at.find(w.name)
	w.at.take(e, same.Mode, parseOID(same.ID))
	w.at.reform(e, f, oid{})
	e.held = w.stat.size
	p.settle(e, w.stat, p.began)
}

// refused leaves w out, which git could not store. Where only its filter failed,
// and it has the bytes that the user's index has, it is taken as that.
func (p *pass) refused(w work, reason string) error {
	if reason == snapshot.Filter {
		same, err := p.gate().Same(p.guarded(w))
		if err != nil {
			return err
		}
		if same.Mode != 0 {
			p.takeSame(w, same, formSame)
			return nil
		}
	}
	p.leaveFile(w, reason)
	return nil
}

// converts tells whether git may change the content of files as it stores them,
// by their line ends, their encoding or $Id$.
func (p *pass) converts() bool {
	return p.outside.AutoCRLF || p.mentioned("text", "crlf", "eol", "ident", encodingAttr)
}
