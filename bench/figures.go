package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// figures are the samples of a run, by key.
type figures struct {
	samples map[string][]time.Duration
	early   map[string]int // samples of commands that did not wait for their save
}

func newFigures() *figures {
	return &figures{samples: map[string][]time.Duration{}, early: map[string]int{}}
}

// time runs do and keeps how long it took, unless it failed. A nil f only runs it.
func (f *figures) time(key string, do func() error) error {
	began := time.Now()
	err := do()
	took := time.Since(began)
	if err != nil {
		return err
	}
	f.add(key, took)
	return nil
}

func (f *figures) add(key string, took time.Duration) {
	if f != nil {
		f.samples[key] = append(f.samples[key], took)
	}
}

// letGo notes that the last sample's command returned before its work was done.
func (f *figures) letGo(key string) {
	if f != nil {
		f.early[key]++
	}
}

// median is the middle sample, of an even number the mean of the two in the
// middle; 0: there is none.
func (f *figures) median(key string) time.Duration {
	sorted := slices.Sorted(slices.Values(f.samples[key]))
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// least is the shortest sample; 0: there is none.
func (f *figures) least(key string) time.Duration {
	if len(f.samples[key]) == 0 {
		return 0
	}
	return slices.Min(f.samples[key])
}

// ratio is the ratio of two medians; 0: one of them is missing.
func (f *figures) ratio(key, to string) float64 {
	if f.median(to) == 0 {
		return 0
	}
	return float64(f.median(key)) / float64(f.median(to))
}

// takeTurns takes a sample of every rival in each round, in a new order each
// time, after a round that does not count.
func takeTurns(ctx context.Context, rivals []rival, rounds int, random *rand.Rand) (*figures, error) {
	var f *figures
	for round := range rounds + 1 {
		if round == 1 {
			f = newFigures()
		}
		for _, i := range random.Perm(len(rivals)) {
			if err := rivals[i](ctx, f); err != nil {
				return nil, fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return f, nil
}
