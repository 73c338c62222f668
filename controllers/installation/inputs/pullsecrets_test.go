// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// secrets is an API server with Secrets of a size by any name, which counts how often they are read.
type secrets struct {
	client.Reader
	size, reads int
}

func (s *secrets) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.reads++
	object.(*corev1.Secret).Data = map[string][]byte{"k": make([]byte, s.size)}
	return nil
}

func naming(names ...string) *usedContext {
	object := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c"}}
	for _, name := range names {
		object.RegistryPullSecrets = append(object.RegistryPullSecrets, v1alpha1.LocalObjectReference{Name: name})
	}
	return &usedContext{Object: object}
}

func numbered(count int) []string {
	var names []string
	for i := range count {
		names = append(names, fmt.Sprintf("secret-%d", i))
	}
	return names
}

func TestAContextHasEachPullSecretReadOnce(t *testing.T) {
	live := &secrets{size: 1}
	_, err := (&Reader{Live: live}).access(t.Context(), naming(slices.Repeat([]string{"pull"}, 1000)...))
	require.NoError(t, err)
	assert.Equal(t, 1, live.reads)
}

func TestPullSecretsOfAContextAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		names, size int
		says        string
	}{
		"too many":  {51, 1, "Context n/c: registryPullSecrets: names more than 50 different Secrets; name fewer"},
		"too large": {5, 1 << 20, "Context n/c: registryPullSecrets: the Secrets have more than 4 MiB together; name fewer"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&Reader{Live: &secrets{size: tc.size}}).access(t.Context(), naming(numbered(tc.names)...))
			require.ErrorContains(t, err, tc.says)
			failure := protocol.AsFailure("", err)
			assert.Equal(t, protocol.Stalled, failure.Kind)
			assert.Equal(t, reasonInvalidContext, failure.Reason)
		})
	}
}

func TestAFingerprintTakesNoCopyOfThePullSecrets(t *testing.T) {
	const size = 8 << 20
	c, access := naming("pull"), &access{pull: map[string]map[string][]byte{"pull": {"k": make([]byte, size)}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c.fingerprint(access)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(size/8))
}
