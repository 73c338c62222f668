// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// breaking panics when it is asked for a kind, and ends what asks.
type breaking struct {
	meta.RESTMapper
	end context.CancelFunc
}

func (b breaking) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	b.end()
	panic("broken")
}

func TestAPanicOverWhatASourceSendsEndsTheWatchAlone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cluster := &target.Cluster{Mapper: breaking{end: cancel}}
	assert.NotPanics(t, func() { (&sources{}).watch(ctx, types.NamespacedName{}, cluster, target.Stream{}, nil) })
}
