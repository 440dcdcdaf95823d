package record

import (
	"fmt"
	"strconv"

	"github.com/turnback/turnback/internal/trailers"
)

func pathItems(paths []string) [][]string {
	items := make([][]string, 0, len(paths))
	for _, p := range paths {
		items = append(items, []string{p})
	}
	return items
}

func turnItems(list []TurnID) [][]string {
	items := make([][]string, 0, len(list))
	for _, id := range list {
		items = append(items, []string{id.Pane, strconv.Itoa(id.Turn)})
	}
	return items
}

// fillTurns reads which turns there were at the same time, and what the lists of
// paths begin with.
func (c *Checkpoint) fillTurns(t *trailers.Set) error {
	items, err := t.List("With", 2)
	if err != nil {
		return err
	}
	for _, f := range items {
		turn, err := strconv.Atoi(f[1])
		if err != nil || turn < 0 || turn > maxNumber {
			return fmt.Errorf("%w: turn %.40q", trailers.ErrMalformed, f[1])
		}
		c.With = append(c.With, TurnID{Pane: f[0], Turn: turn})
	}
	if c.Uncertain, c.UncertainCount, err = paths(t, "Uncertain", "Uncertain-Count"); err != nil {
		return err
	}
	c.Named, c.NamedCount, err = paths(t, "Named", "Named-Count")
	return err
}

// paths reads how a list of paths begins, and how long it is.
func paths(t *trailers.Set, name, count string) (begin []string, n int, err error) {
	if n, err = number(t, count); err != nil {
		return nil, 0, err
	}
	items, err := t.List(name, 1)
	if err != nil {
		return nil, 0, err
	}
	for _, f := range items {
		begin = append(begin, f[0])
	}
	if n < len(begin) {
		return nil, 0, fmt.Errorf("%w: %s %d for %d paths", trailers.ErrMalformed, count, n, len(begin))
	}
	return begin, n, nil
}
