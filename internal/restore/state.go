package restore

import (
	"context"
	"errors"
	"slices"
)

// Remaining tells the numbers of the ops that are still to be done, and which paths hold something
// else than they should.
func (r *Run) Remaining(ctx context.Context, j Journal, abort bool) (todo []int, others []string, err error) {
	ops := j.Ops
	if abort {
		ops = Reverse(ops)
	}
	todo = []int{}
	for i, op := range ops {
		isNew, err := r.Holds(ctx, op.Path, op.New)
		if err != nil {
			return nil, nil, err
		}
		if isNew {
			continue
		}
		isOld, err := r.Holds(ctx, op.Path, op.Old)
		if err != nil {
			return nil, nil, err
		}
		gone, err := r.Holds(ctx, op.Path, File{})
		if err != nil {
			return nil, nil, err
		}
		switch {
		case isOld:
		case gone:
			j.Ops[i] = vacated(j.Ops[i], abort) // moved away meanwhile: nothing is written over
		default:
			others = append(others, op.Path)
			continue
		}
		todo = append(todo, i)
	}
	return todo, others, nil
}

// vacated is op where nothing stands at its path: there is nothing to expect of
// the side that the run comes from.
func vacated(op Op, abort bool) Op {
	if abort {
		op.New = File{}
	} else {
		op.Old = File{}
	}
	return op
}

// TakeBack takes back the ops that were carried out. A file that was edited
// after it was restored stays as it is; edited names those.
func (r *Run) TakeBack(ctx context.Context, ops []Op, done []int) (edited []string, err error) {
	todo := slices.Clone(done)
	for {
		taken, err := r.Apply(ctx, Reverse(ops), append([]int{}, todo...))
		var pe *PathError
		if err == nil || !errors.As(err, &pe) || !errors.Is(err, ErrChanged) {
			return edited, err
		}
		edited = append(edited, pe.Path)
		todo = slices.DeleteFunc(todo, func(i int) bool { return slices.Contains(taken, i) || ops[i].Path == pe.Path })
	}
}

// Differing names the paths of ops at which the disk is not what they wanted.
func (r *Run) Differing(ctx context.Context, ops []Op) ([]string, error) {
	var out []string
	for _, op := range ops {
		ok, err := r.Holds(ctx, op.Path, op.New)
		if err != nil {
			return nil, err
		}
		if !ok {
			out = append(out, op.Path)
		}
	}
	return out, nil
}
