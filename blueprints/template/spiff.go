// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"context"
	"errors"
)

// Spiff runs Spiff++.
type Spiff struct{}

// Execute renders the template.
func (Spiff) Execute(ctx context.Context, in Input) (Output, error) {
	return Output{}, errors.New("not yet")
}
