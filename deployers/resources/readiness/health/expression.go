// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/cel-go/cel"
	celast "github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Bounds of one expression.
const (
	// maxLength and maxDepth bound the text.
	maxLength = 2048
	maxDepth  = 50
	// maxCost is in steps, see costs.
	maxCost = 50_000
	// maxTime ends what takes long for other reasons than its cost, such as a busy machine.
	maxTime = 2 * time.Second
	// maxText is how long a text may be, in bytes, that is searched: the cost of that is not linear.
	maxText = 16 << 10
	// checkEvery is after how many steps of a loop the time is looked at.
	checkEvery = 16
	// maxShown bounds what messages show of problems.
	maxShown = 300
)

// refused are functions that may make much out of little, or take time that is not linear in their input, in one step that nothing interrupts.
var refused = []string{"replace", "join", "format", "sets.contains", "sets.equivalent", "sets.intersects"}

// searching are functions whose texts have to be short.
var searching = []string{"matches", "indexOf", "lastIndexOf"}

// ErrTooCostly says that an expression takes more steps than it may.
var ErrTooCostly = errors.New("costs more than an expression may; make it simpler")

// expression is one compiled CEL expression.
type expression struct{ program cel.Program }

// environment has what expressions in a Flux Kustomization have, but for the functions that are refused. Variables are not declared: kinds may
// have any top-level fields.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Encoders(),
		cel.ParserExpressionSizeLimit(maxLength), cel.ParserRecursionLimit(maxDepth))
})

// compile reads an expression. The error says what is wrong with it.
func compile(text string) (*expression, error) {
	if len(text) > maxLength {
		return nil, fmt.Errorf("has %d characters, more than %d; shorten it", len(text), maxLength)
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, fmt.Errorf("is not a CEL expression: %s", shown(issues.Err()))
	}
	if err := inspect(parsed); err != nil {
		return nil, err
	}
	program, err := env.Program(parsed, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost), cel.CostTracking(costs{}), cel.InterruptCheckFrequency(checkEvery),
		cel.CustomDecorator(guard))
	if err != nil {
		return nil, fmt.Errorf("cannot be used: %s", shown(err))
	}
	return &expression{program: program}, nil
}

// ask evaluates the expression for an object.
func (e *expression) ask(ctx context.Context, object map[string]any) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	value, _, err := e.program.ContextEval(ctx, object)
	switch {
	case isCostly(err):
		return false, ErrTooCostly
	case err != nil:
		return false, errors.New(shown(err))
	}
	answer, isBool := value.(types.Bool)
	if !isBool {
		return false, fmt.Errorf("the answer is a %s, not true or false", value.Type().TypeName())
	}
	return bool(answer), nil
}

func isCostly(err error) bool {
	if cancelled, ok := errors.AsType[interpreter.EvalCancelledError](err); ok {
		return cancelled.Cause == interpreter.CostLimitExceeded
	}
	return err != nil && strings.Contains(err.Error(), "actual cost limit exceeded")
}

// shown returns the text of a problem in one line.
func shown(err error) string {
	return foreign.Beginning(strings.Join(strings.Fields(err.Error()), " "), maxShown)
}

// inspect refuses functions.
func inspect(parsed *cel.Ast) error {
	var problem error
	celast.PreOrderVisit(parsed.NativeRep().Expr(), celast.NewExprVisitor(func(e celast.Expr) {
		if e.Kind() != celast.CallKind {
			return
		}
		if name := nameOf(e.AsCall()); slices.Contains(refused, name) {
			problem = fmt.Errorf("uses the function %s, whose cost cannot be bounded; do without", name)
		}
	}))
	return problem
}

// nameOf returns the name of a called function together with its package.
func nameOf(call celast.CallExpr) string {
	if call.IsMemberFunction() && call.Target().Kind() == celast.IdentKind && call.Target().AsIdent() == "sets" {
		return "sets." + call.FunctionName()
	}
	return call.FunctionName()
}

// costs says what a call costs: one step, one for ten bytes of text that go in or come out, one for each item of a list or map that comes out, and one for
// ten values in lists and maps that are compared or added.
// CEL itself knows the functions only of expressions whose types are declared.
type costs struct{}

// CallCost returns the cost of a call that has been made.
func (costs) CallCost(function, _ string, arguments []ref.Val, result ref.Val) *uint64 {
	cost := 1 + textIn(result) + costOfParts(function, arguments)
	for _, argument := range arguments {
		cost += textIn(argument)
	}
	if items, isSized := result.(traits.Sizer); isSized && (result.Type() == types.ListType || result.Type() == types.MapType) {
		if size, isInt := items.Size().(types.Int); isInt {
			cost += uint64(size) // #nosec G115 -- a length is not negative
		}
	}
	return &cost
}

func textIn(value ref.Val) uint64 {
	switch v := value.(type) {
	case types.String:
		return uint64(len(v)) / 10
	case types.Bytes:
		return uint64(len(v)) / 10
	}
	return 0
}

// guard bounds the texts of functions that search, and the values that are made and compared.
func guard(node interpreter.Interpretable) (interpreter.Interpretable, error) {
	switch n := node.(type) {
	case interpreter.InterpretableCall:
		if slices.Contains(searching, n.Function()) {
			return search{n}, nil
		}
		if comparing[n.Function()] != nil && len(n.Args()) == 2 {
			return comparison{n}, nil
		}
	case interpreter.InterpretableConstructor:
		if slices.ContainsFunc(n.InitVals(), isVariable) {
			return construction{n}, nil
		}
	}
	return node, nil
}

// search is a call that gives an error where a text is too long to be searched.
type search struct{ interpreter.InterpretableCall }

// Eval returns what the call returns.
func (s search) Eval(activation interpreter.Activation) ref.Val {
	for _, argument := range s.Args() {
		if text, isText := argument.Eval(activation).(types.String); isText && len(text) > maxText {
			return types.NewErr("a text of %d bytes is longer than %d, too long to be searched", len(text), maxText)
		}
	}
	return s.InterpretableCall.Eval(activation)
}
