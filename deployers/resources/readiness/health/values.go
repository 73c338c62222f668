// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// maxParts is how many values a list or map may have that an expression makes or compares, those in it counted as often as they are in it: a list may
// hold the same list many times, and that one another, so that a short expression makes a value without end.
const maxParts = 100_000

// partsPerStep is how many values of a list or map cost one step.
const partsPerStep = 10

// partsIn counts a value and all values in it, up to some more than maxParts.
func partsIn(value ref.Val) uint64 {
	count := 0
	countParts(value, &count)
	return uint64(count) // #nosec G115 -- a count is not negative
}

func countParts(value ref.Val, count *int) {
	if *count++; *count > maxParts {
		return
	}
	switch v := value.(type) {
	case *types.Optional:
		if v.HasValue() {
			countParts(v.GetValue(), count)
		}
	case traits.Lister:
		for items := v.Iterator(); items.HasNext() == types.True && *count <= maxParts; {
			countParts(items.Next(), count)
		}
	case traits.Mapper:
		for keys := v.Iterator(); keys.HasNext() == types.True && *count <= maxParts; {
			key := keys.Next()
			countParts(key, count)
			if of, found := v.Find(key); found {
				countParts(of, count)
			}
		}
	}
}

// tooLarge is the error about a value with too many parts, nil for others.
func tooLarge(values ...ref.Val) ref.Val {
	for _, value := range values {
		if partsIn(value) > maxParts {
			return types.NewErr("a list or map of more than %d values is too large", maxParts)
		}
	}
	return nil
}

// isVariable reports whether a node is something else than a literal.
func isVariable(node interpreter.Interpretable) bool {
	_, isConst := node.(interpreter.InterpretableConst)
	return !isConst
}

// construction is the making of a list or map that gives an error where that is too large.
type construction struct {
	interpreter.InterpretableConstructor
}

// Eval returns what is made.
func (c construction) Eval(activation interpreter.Activation) ref.Val {
	made := c.InterpretableConstructor.Eval(activation)
	if problem := tooLarge(made); problem != nil {
		return problem
	}
	return made
}

// comparing are the functions that look at all parts of their two arguments.
var comparing = map[string]func(a, b ref.Val) ref.Val{
	operators.Equals:    types.Equal,
	operators.NotEquals: func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) },
	operators.In: func(a, b ref.Val) ref.Val {
		in, isContainer := b.(traits.Container)
		if !isContainer {
			return types.MaybeNoSuchOverloadErr(b)
		}
		return in.Contains(a)
	},
}

// comparison is a call of such a function that gives an error where an argument is too large: nothing could interrupt it.
type comparison struct{ interpreter.InterpretableCall }

// Eval returns what the call returns.
func (c comparison) Eval(activation interpreter.Activation) ref.Val {
	a, b := c.Args()[0].Eval(activation), c.Args()[1].Eval(activation)
	for _, value := range []ref.Val{a, b} {
		if types.IsUnknownOrError(value) {
			return value
		}
	}
	if problem := tooLarge(a, b); problem != nil {
		return problem
	}
	return comparing[c.Function()](a, b)
}

// costOfParts is what a call costs for lists and maps that it is given: those that are compared, and those that come to a list, from which on each
// further value of it is one more.
func costOfParts(function string, arguments []ref.Val) uint64 {
	cost := uint64(0)
	if _, compares := comparing[function]; compares {
		for _, argument := range arguments {
			cost += partsIn(argument) / partsPerStep
		}
	}
	if function == operators.Add && len(arguments) == 2 {
		cost += partsIn(arguments[1]) / partsPerStep
	}
	return cost
}
