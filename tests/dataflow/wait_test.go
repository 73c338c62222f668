// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// landscapePatience bounds waits, tick is how often conditions without a watch are looked at.
const (
	landscapePatience = landscape.Patience
	tick              = 50 * time.Millisecond
)

// readyMessage is what the condition Ready says.
func readyMessage(inst *v1alpha1.Installation) string {
	return conditions.GetMessage(inst, meta.ReadyCondition)
}
