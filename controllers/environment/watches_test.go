// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// watcher is a controller that refuses the watches with some numbers.
type watcher struct {
	controller.Controller
	refused map[int]bool
	calls   int
}

func (w *watcher) Watch(source.Source) error {
	w.calls++
	if w.refused[w.calls] {
		return errors.New("the cache cannot be reached")
	}
	return nil
}

type uncached struct{ ctrl.Manager }

func (uncached) GetCache() cache.Cache { return nil }

func TestAFailedWatchIsBegunAgain(t *testing.T) {
	w := &watcher{refused: map[int]bool{3: true}}
	r := &Reconciler{controller: w, manager: uncached{}}
	require.Error(t, r.watchMore())
	require.NoError(t, r.watchMore())
	assert.Equal(t, len(r.extras())+1, w.calls, "only the watch that failed, and those behind it, are begun again")
	require.NoError(t, r.watchMore())
	assert.Equal(t, len(r.extras())+1, w.calls)
}
