// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// secrets is an API server with Secrets by any name but "gone", which counts how often they are read.
type secrets struct {
	client.Reader
	reads int
}

func (s *secrets) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.reads++
	if key.Name == "gone" {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, key.Name)
	}
	object.(*corev1.Secret).Data = map[string][]byte{"k": []byte("v")}
	return nil
}

func jobOf(context map[string]map[string][]byte) *contract.Item {
	return &contract.Item{
		DeployItem: &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "item"}}, Context: &contract.Context{PullSecrets: context},
	}
}

func naming(names ...string) *containerv1alpha1.ProviderConfiguration {
	config := &containerv1alpha1.ProviderConfiguration{}
	for _, name := range names {
		config.RegistryPullSecrets = append(config.RegistryPullSecrets, v1alpha1.ObjectReference{Name: name})
	}
	return config
}

func TestAnItemInDeletionAsksOnceForAPullSecretThatIsGone(t *testing.T) {
	live, item := &secrets{}, jobOf(nil)
	item.DeployItem.DeletionTimestamp = new(metav1.Unix(1, 0))
	found, err := pullSecrets(t.Context(), live, item, naming(slices.Repeat([]string{"gone"}, 1000)...))
	require.NoError(t, err)
	assert.Empty(t, found)
	assert.Equal(t, 1, live.reads)
}

func TestPullSecretsOfItemAndContextAreBoundedTogether(t *testing.T) {
	known, more := map[string]map[string][]byte{}, []string{}
	for i := range 26 {
		known[fmt.Sprintf("context-%d", i)] = nil
		more = append(more, fmt.Sprintf("item-%d", i))
	}
	live := &secrets{}
	_, err := pullSecrets(t.Context(), live, jobOf(known), naming(more...))
	require.ErrorContains(t, err, "spec.config.registryPullSecrets, with those of the Context: names more than 50 different Secrets; name fewer")
	assert.Equal(t, protocol.Stalled, protocol.AsFailure("", err).Kind)
	assert.Zero(t, live.reads)

	found, err := pullSecrets(t.Context(), live, jobOf(known), naming(more[:24]...))
	require.NoError(t, err)
	assert.Len(t, found, 50)
	assert.Len(t, known, 26, "those of the Context belong to the item")
}

func TestAPullSecretThatIsMissingIsNamedWithItsPlace(t *testing.T) {
	_, err := pullSecrets(t.Context(), &secrets{}, jobOf(nil), naming("one", "gone"))
	require.ErrorContains(t, err, `spec.config.registryPullSecrets[1]: Secret "gone" does not exist in namespace "n"; create it, or leave it out`)
}
