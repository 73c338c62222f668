// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
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

func TestAFailedWatchIsBegunAgain(t *testing.T) {
	w := &watcher{refused: map[int]bool{3: true}}
	all := &watches{controller: w, homes: &pair.Homes{}}
	require.Error(t, all.more())
	require.NoError(t, all.more())
	assert.Equal(t, len(all.extras())+1, w.calls, "only the watch that failed, and those behind it, are begun again")
	require.NoError(t, all.more())
	assert.Equal(t, len(all.extras())+1, w.calls)
}
