// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

func TestStateOfSeveralPieces(t *testing.T) {
	s := serve(t)
	item := s.create(script(`head -c 2600000 /dev/urandom > "$STATE_PATH/large"; echo "sum: $(cksum < $STATE_PATH/large | tr ' ' _)" > "$EXPORTS_PATH"`))
	s.succeed(item)
	sum := s.exports(item)
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 3 })
	secret := &corev1.Secret{}
	require.NoError(t, s.p.Client().Get(t.Context(), keyIn(s.host, s.left()["Secret"][1]), secret))
	assert.Equal(t, "state", secret.Labels[sidecar.Type])
	assert.Equal(t, "1", secret.Annotations[sidecar.Num])
	assert.NotEmpty(t, secret.Annotations[sidecar.UUID])

	s.configure(item, script(`echo "sum: $(cksum < $STATE_PATH/large | tr ' ' _)" > "$EXPORTS_PATH"; rm "$STATE_PATH/large"`))
	s.succeed(item)
	assert.Equal(t, sum, s.exports(item), "every byte came back")

	for range 2 {
		s.configure(item, script(`[ -z "$(ls $STATE_PATH)" ]`))
		s.succeed(item)
	}
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 2 })
}

func TestIncompleteStateDoesNotCount(t *testing.T) {
	s := serve(t)
	item := s.create(script(`echo good > "$STATE_PATH/good"`))
	s.succeed(item)
	n := namesOf(keyOf(item), s.options.Identity)
	piece := &corev1.Secret{ObjectMeta: n.meta(s.host, n.state(2)+"0", sidecar.TypeState, map[string]string{
		sidecar.UUID: "a run that died", sidecar.Num: "0", sidecar.Count: "2", sidecar.Sequence: "2",
	}), Data: map[string][]byte{sidecar.PieceKey: []byte("half")}}
	require.NoError(t, s.p.Client().Create(t.Context(), piece))

	s.configure(item, script(`echo "good: $(cat $STATE_PATH/good)" > "$EXPORTS_PATH"`))
	s.succeed(item)

	assert.JSONEq(t, `{"good": "good"}`, s.exports(item))
	s.awaitLeft(func(left map[string][]string) bool {
		return len(left["Secret"]) == 2 && slices.ContainsFunc(left["Secret"], func(name string) bool { return strings.HasPrefix(name, n.state(1)) })
	})
}

func TestStateOfAnotherItemIsOutOfReach(t *testing.T) {
	s := serve(t)
	rich := s.add(s.item("rich", script(`echo secret > "$STATE_PATH/mine"`)))
	s.succeed(rich)
	poor := s.add(s.item("poor", script(`[ -z "$(ls $STATE_PATH)" ]`)))
	s.succeed(poor)
}
