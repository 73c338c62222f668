// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// accessOf returns the configuration of a Target with a token for a server.
func accessOf(t *testing.T, host, token string) *v1alpha1.AnyJSON {
	t.Helper()
	kubeconfig, err := platform.KubeconfigFor(&rest.Config{Host: host, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{
		CAData: platform.Shared(t).RestConfig.CAData,
	}})
	require.NoError(t, err)
	return config(t, map[string]any{"kubeconfig": string(kubeconfig)})
}

const wantedHost = "https://wanted.example.com"

// addressOf returns the address of a host in the Targets of a test.
func addressOf(t *testing.T, host string) string {
	t.Helper()
	return (&Cluster{Config: &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAData: platform.Shared(t).RestConfig.CAData}}}).Address()
}

func namesOf(clusters []*Cluster) (names []string) {
	for _, cluster := range clusters {
		names = append(names, cluster.Name)
	}
	return names
}

func TestLeadingFindsTheTargetsOfAnAddress(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	for name, spec := range map[string]v1alpha1.TargetSpec{
		"a-elsewhere": {Configuration: accessOf(t, "https://other.example.com", "one")},
		"b-broken":    {Configuration: config(t, map[string]any{"kubeconfig": "no kubeconfig"})},
		"c-no-secret": {SecretRef: &v1alpha1.LocalSecretReference{Name: "missing"}},
		"d-type":      {Type: "example.com/other", Configuration: accessOf(t, wantedHost, "four")},
		"e-there":     {Configuration: accessOf(t, wantedHost, "one")},
		"f-copy":      {Configuration: accessOf(t, wantedHost, "one")},
		"g-there":     {Configuration: accessOf(t, wantedHost, "two")},
	} {
		createTarget(t, p, namespace, name, spec)
	}

	found, err := newClients(t, p, Options{}).Leading(t.Context(), p.Client(), p.Client(), namespace, addressOf(t, wantedHost), Actor{})

	require.NoError(t, err)
	assert.Equal(t, []string{"e-there", "g-there"}, namesOf(found), "in order, and each content once")
}

func TestLeadingIsBounded(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	for i := range maxLeading + 2 {
		createTarget(t, p, namespace, fmt.Sprintf("target-%d", i), v1alpha1.TargetSpec{Configuration: accessOf(t, wantedHost, fmt.Sprint(i))})
	}

	found, err := newClients(t, p, Options{}).Leading(t.Context(), p.Client(), p.Client(), namespace, addressOf(t, wantedHost), Actor{})

	require.NoError(t, err)
	assert.Len(t, found, maxLeading)
}

func TestLeadingReadsASecretOnceAndSaysWhenItCannot(t *testing.T) {
	p := platform.Shared(t)
	namespace, reads := p.Namespace(t), 0
	for _, name := range []string{"one", "two"} {
		createTarget(t, p, namespace, name, v1alpha1.TargetSpec{SecretRef: &v1alpha1.LocalSecretReference{Name: "access", Key: "kubeconfig"}})
	}
	broken := errors.New("the landscaper cluster does not answer")
	live := interceptor.NewClient(p.Client(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			reads++
			return broken
		},
	})

	_, err := newClients(t, p, Options{}).Leading(t.Context(), p.Client(), live, namespace, addressOf(t, wantedHost), Actor{})

	require.ErrorIs(t, err, broken)
	assert.Equal(t, 1, reads)
}
