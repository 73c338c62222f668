// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

func TestSharesOfTheStorage(t *testing.T) {
	const mib = sidecar.PieceBytes
	for name, test := range map[string]struct {
		operation       containerv1alpha1.OperationType
		content, others int64
		running, last   int
		pieces          int64
		refused         bool
	}{
		"alone":                       {running: 1, pieces: 16},
		"before its place is counted": {pieces: 16},
		"less is left":                {running: 1, others: 62 * mib, pieces: 2},
		"part of a piece is left":     {running: 1, others: 62*mib + 1, pieces: 2},
		"content counts":              {running: 1, content: mib, others: 62 * mib, pieces: 1},
		"shared":                      {running: 8, pieces: 8},
		"shared, with a larger state": {running: 8, last: 10, pieces: 10},
		"a byte is left for many":     {running: 8, others: 64*mib - 1, pieces: 1},
		"nothing is left":             {running: 1, others: 64 * mib, refused: true},
		"the content is too much":     {running: 1, content: 2 * mib, others: 63 * mib, refused: true},
		"nothing is left, deletion":   {operation: containerv1alpha1.OperationDelete, running: 1, others: 90 * mib, pieces: 1},
		"deletion with a large state": {operation: containerv1alpha1.OperationDelete, running: 1, others: 90 * mib, last: 5, pieces: 5},
		"a state larger than allowed": {running: 1, last: 20, pieces: 16},
	} {
		t.Run(name, func(t *testing.T) {
			options := Options{MaxStored: 64 * mib, MaxState: 16 * mib, MaxPods: 100}
			r := &run{
				host:     options.hostFor(types.NamespacedName{Namespace: "n", Name: "a"}),
				deployer: &Deployer{cleanup: newCleanup(&options)}, operation: test.operation,
			}
			for i := range test.running {
				r.deployer.cleanup.places.hold(types.NamespacedName{Namespace: "n", Name: fmt.Sprint(i)})
			}
			pieces, err := r.share(test.content, test.others, state{secrets: make([]string, test.last)})
			assert.Equal(t, test.refused, err != nil)
			assert.Equal(t, test.pieces, pieces)
		})
	}
}

func TestSizesOfSecrets(t *testing.T) {
	for name, test := range map[string]struct {
		kind, says string
		silent     bool
		size       int64
	}{
		"piece of a state":           {kind: sidecar.TypeState, says: "17", size: 17},
		"piece of content":           {kind: sidecar.TypeContent, says: "0"},
		"of a release before":        {kind: sidecar.TypeState, silent: true},
		"says no number":             {kind: sidecar.TypeState, size: sidecar.PieceBytes},
		"says too little":            {kind: sidecar.TypeState, says: "-1", size: sidecar.PieceBytes},
		"says too much":              {kind: sidecar.TypeState, says: "99999999", size: sidecar.PieceBytes},
		"goes with the job":          {kind: sidecar.TypeConfig, says: "17"},
		"goes with the job, unnamed": {says: "17"},
	} {
		t.Run(name, func(t *testing.T) {
			secret := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
				Labels: map[string]string{sidecar.Type: test.kind}, Annotations: map[string]string{sidecar.Size: test.says},
			}}
			if test.silent {
				secret.Annotations = nil
			}
			assert.Equal(t, test.size, sizeOf(secret))
		})
	}
}

func TestWhatANamespaceStoresIsLimited(t *testing.T) {
	s := prepare(t, func(o *Options) { o.MaxStored = 2 << 20 })
	s.others = []string{s.p.Namespace(t)}
	s.start()
	t.Cleanup(func() { s.stop() })
	store := script(`[ "$OPERATION" = DELETE ] || head -c 1000000 /dev/urandom > "$STATE_PATH/large"`)
	first, second, third := s.add(s.item("first", store)), s.add(s.item("second", store)), s.item("third", store)
	s.succeed(first)
	s.succeed(second)
	third.Namespace = s.others[0]
	s.succeed(s.add(third))

	s.configure(second, script(`[ "$OPERATION" = DELETE ] || head -c 1200000 /dev/urandom > "$STATE_PATH/large"`))
	s.succeed(second)
	fourth := s.add(s.item("fourth", script("true")))
	s.fail(fourth, "(--max-stored-per-namespace)")
	require.Equal(t, "StorageExceeded", fourth.Status.LastError.Reason)
	assert.Zero(t, s.podsOf(fourth))

	s.remove(second)
	s.begin(fourth)
	s.succeed(fourth)
}
