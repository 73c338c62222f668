// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// maxHeld is how many MiB values may take in memory that a reconciliation holds together. A text takes up to twenty times its size there, and
// nothing else limits how often an object is imported.
const maxHeld = 64

// Allowance is the memory for values of one reconciliation. The zero value is ready; it is not for use by several goroutines.
type Allowance struct{ used int64 }

// Hold counts one more value. It fails once all take too much.
func (a *Allowance) Hold(value any) error {
	a.used += memory.Size(value)
	if a.used > maxHeld<<20 {
		return fmt.Errorf("it takes more than %d MiB of memory together with those before it; use fewer or smaller ones", maxHeld)
	}
	return nil
}
