// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// with returns a reader of some objects.
func with(t *testing.T, objects ...client.Object) *Reader {
	t.Helper()
	c := fixture.Cluster(t, relations.Index, objects...)
	return &Reader{Reader: c, Live: c}
}

// incompleteContext is the error about a Context that is not there.
func incompleteContext(t *testing.T) error {
	t.Helper()
	inst := fixture.Node("root", "")
	inst.Spec.Context = "missing"
	_, err := with(t).findContext(t.Context(), inst)
	return err
}
