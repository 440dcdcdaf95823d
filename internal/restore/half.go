package restore

// Half is what belongs to a restore beside the files: both are put back, or
// neither.
type Half struct {
	// Tag names it in the journal, for whoever finishes the restore when this
	// process is killed: 1 to 64 of a-z, 0-9 and -.
	Tag string
	// Take puts it back. It is called once the files are in place, while the journal
	// tells of the restore; on an error of it they are taken back.
	Take func() error
}

// Name is the tag; empty: there is no other half.
func (h *Half) Name() string {
	if h == nil {
		return ""
	}
	return h.Tag
}

// Put takes the half, if there is one.
func (h *Half) Put() error {
	if h == nil {
		return nil
	}
	return h.Take()
}
