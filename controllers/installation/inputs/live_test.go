// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// counted collects from some objects, and counts the requests to the API server.
func counted(t *testing.T, objects ...client.Object) (c *Reader, requests *int) {
	t.Helper()
	all := fixture.Cluster(t, relations.Index, objects...)
	requests = new(int)
	return &Reader{Reader: all, Live: interceptor.NewClient(all, interceptor.Funcs{
		Get: func(ctx context.Context, below client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			*requests++
			return below.Get(ctx, key, object, options...)
		},
	})}, requests
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "n", Name: name} }

func TestSecretsAndConfigMapsAreReadOnce(t *testing.T) {
	const keys = 1000
	secret := &corev1.Secret{ObjectMeta: named("in"), Data: map[string][]byte{}}
	config := &corev1.ConfigMap{ObjectMeta: named("in"), Data: map[string]string{}, BinaryData: map[string][]byte{"binary": []byte(`"b"`)}}
	other := &corev1.Secret{ObjectMeta: named("other"), Data: map[string][]byte{"k": []byte(`"o"`)}}
	inst := fixture.Working("root", "1", "job")
	inst.Spec.Imports.Data = nil
	add := func(name string, secret *v1alpha1.LocalSecretReference, config *v1alpha1.LocalConfigMapReference) {
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: name, SecretRef: secret, ConfigMapRef: config})
	}
	for i := range keys {
		key := "k" + strconv.Itoa(i)
		secret.Data[key], config.Data[key] = []byte(strconv.Itoa(i)), strconv.Itoa(-i)
		add("s"+key, &v1alpha1.LocalSecretReference{Name: "in", Key: key}, nil)
		add("c"+key, nil, &v1alpha1.LocalConfigMapReference{Name: "in", Key: key})
	}
	add("other", &v1alpha1.LocalSecretReference{Name: "other"}, nil)
	add("binary", nil, &v1alpha1.LocalConfigMapReference{Name: "in", Key: "binary"})
	c, requests := counted(t, secret, config, other)

	found, err := c.collect(t.Context(), inst)

	require.NoError(t, err)
	assert.Equal(t, 3, *requests)
	assert.Len(t, found.Values.Data, 2*keys+2)
	assert.Equal(t, map[string]any{"k": "o"}, found.Values.Data["other"])
	assert.Equal(t, "b", found.Values.Data["binary"])
	for i := range keys {
		require.EqualValues(t, i, found.Values.Data["sk"+strconv.Itoa(i)])
		require.EqualValues(t, -i, found.Values.Data["ck"+strconv.Itoa(i)])
	}
}

// TestSecretsOfOneInstallationAreLimited counts objects, not imports, and reads none where there are too many.
func TestSecretsOfOneInstallationAreLimited(t *testing.T) {
	var objects []client.Object
	inst := fixture.Working("root", "1", "job")
	inst.Spec.Imports.Data = nil
	for i := range maxLive {
		name := "s" + strconv.Itoa(i)
		objects = append(objects, &corev1.Secret{ObjectMeta: named(name), Data: map[string][]byte{"k": []byte("1")}})
		for _, twice := range []string{"a", "b"} {
			inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: name + twice, SecretRef: &v1alpha1.LocalSecretReference{Name: name, Key: "k"}})
		}
	}
	c, requests := counted(t, objects...)
	found, err := c.collect(t.Context(), inst)
	require.NoError(t, err)
	assert.Len(t, found.Values.Data, 2*maxLive)
	assert.Equal(t, maxLive, *requests)

	*requests = 0
	inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: "more", ConfigMapRef: &v1alpha1.LocalConfigMapReference{Name: "s0"}})
	_, err = c.collect(t.Context(), inst)
	require.ErrorContains(t, err, "spec.imports.data: it names 501 Secrets and ConfigMaps, and 500 are the most")
	assert.Zero(t, *requests)
}

// TestErrorsOfSharedSecretsNameTheirImport has an import that fails between others of the same object.
func TestErrorsOfSharedSecretsNameTheirImport(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: named("in"), Data: map[string][]byte{"good": []byte("1"), "broken": []byte("[")}}
	for entry, says := range map[string]string{
		"broken": `spec.imports.data[2] (import "third"): Secret n/in: key "broken" is not YAML; correct its content`,
		"absent": `spec.imports.data[2] (import "third"): Secret n/in has no key "absent"; add it or change the reference`,
	} {
		inst := fixture.Working("root", "1", "job")
		inst.Spec.Imports.Data = []v1alpha1.DataImport{
			{Name: "first", SecretRef: &v1alpha1.LocalSecretReference{Name: "in", Key: "good"}},
			{Name: "second", SecretRef: &v1alpha1.LocalSecretReference{Name: "in", Key: "good"}},
			{Name: "third", SecretRef: &v1alpha1.LocalSecretReference{Name: "in", Key: entry}},
			{Name: "fourth", SecretRef: &v1alpha1.LocalSecretReference{Name: "gone", Key: "good"}},
		}
		c, _ := counted(t, secret)
		_, err := c.collect(t.Context(), inst)
		assert.EqualError(t, err, says)
	}
}
