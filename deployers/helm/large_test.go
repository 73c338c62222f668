// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// bulky has as many Secrets of 1 MiB as it is asked for, of which nobody names more than a byte.
type bulky struct {
	client.Reader
	reads int
}

func (b *bulky) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	b.reads++
	into.(*corev1.Secret).Data = map[string][]byte{"a": []byte("1"), "bulk": make([]byte, 1<<20-len("a1bulk"))}
	return nil
}

func TestObjectsWithValuesAreReadUpToTheirLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		references, reads int
		says              string
	}{
		"within it": {8, 8, ""},
		"beyond it": {helmv1alpha1.MaxValuesFrom, 9, "valuesFrom[8]: Secret n/s8: all sources of values together exceed 8 MiB; leave out what is not needed"},
	} {
		t.Run(name, func(t *testing.T) {
			live := &bulky{}
			item := &contract.Item{DeployItem: &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "i"}}}
			job := &job{deployer: &deployer{options: Options{Access: components.Access{Live: live}}}, item: item, config: &helmv1alpha1.ProviderConfiguration{}}
			for i := range tt.references {
				job.config.ValuesFrom = append(job.config.ValuesFrom, helmv1alpha1.ValuesReference{
					Kind: helmv1alpha1.SecretValues, Name: fmt.Sprintf("s%d", i), ValuesKey: "a", TargetPath: "a",
				})
			}

			_, err := job.readValues(t.Context())

			assert.Equal(t, tt.reads, live.reads)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
			assert.Equal(t, "InvalidConfiguration", kit.AsFailure("", err).Reason)
		})
	}
}

func TestOfAnObjectWithValuesOnlyTheNamedKeysAreKept(t *testing.T) {
	references := []helmv1alpha1.ValuesReference{
		{Kind: helmv1alpha1.SecretValues, Name: "s", ValuesKey: "a"}, {Kind: helmv1alpha1.SecretValues, Name: "other", ValuesKey: "bulk"},
	}

	data, size, err := valuesIn(t.Context(), &bulky{}, "n", references[0], keysOf(references, references[0]))

	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"a": []byte("1")}, data)
	assert.Equal(t, 1<<20, size)
}

// TestObjectsOfManyRevisionsAreAddedOnce has as many revisions as a target can list, with an object each. Where all that was found is copied for each
// of them, that is some terabytes.
func TestObjectsOfManyRevisionsAreAddedOnce(t *testing.T) {
	const many = 30_000
	revisions := make([]*engine.Release, 2*many)
	for i := range revisions { // each object twice
		revisions[i] = &engine.Release{Namespace: "n", Manifest: fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", i%many)}
	}
	before := allocated()

	attempted := attemptedIn(revisions, isAny)

	assert.Less(t, allocated()-before, 1<<30)
	require.Len(t, attempted, many)
	assert.Equal(t, "a0", attempted[0].Resource.Name)
	assert.Equal(t, fmt.Sprintf("a%d", many-1), attempted[many-1].Resource.Name)
}

// allocated returns how many bytes were allocated since the process began.
func allocated() int {
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	return int(found.TotalAlloc) // #nosec G115 -- fits
}
