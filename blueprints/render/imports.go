// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// ImportExecutions runs the import executions and adds their bindings to the values; each sees those of the ones before. The first one
// that reports errors ends the chain.
func ImportExecutions(ctx context.Context, env *Environment, values *Values) error {
	x := execution{env: env, field: "importExecutions"}
	if values.Bindings == nil {
		values.Bindings = map[string]any{}
	}
	_, err := x.run(ctx, env.Blueprint.ImportExecutions, func() map[string]any { return env.bindings(values) }, func(made json.RawMessage) error {
		var out importsMade
		if err := x.read(made, &out); err != nil {
			return err
		}
		if len(out.Errors) > 0 {
			return &Error{Reason: ReasonImportValidationFailed, Err: fmt.Errorf("import validation failed: %s", strings.Join(out.Errors, ", "))}
		}
		err := utiljson.ConvertMapNumbers(out.Bindings, 0)
		maps.Copy(values.Bindings, out.Bindings)
		return err
	})
	return err
}
