// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestSitesOfARecord(t *testing.T) {
	const begin = `{"apiVersion":"manifest.deployer.landscaper.gardener.cloud/v1alpha2","kind":"ProviderStatus"`
	const managed = `"managedResources":[{"policy":"manage","resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":"ns","name":"a","uid":"1"}}]`
	for name, tc := range map[string]struct {
		status  string
		want    []string
		isKnown bool
	}{
		"nothing deployed": {begin + `}`, nil, true},
		"one cluster":      {begin + `,` + managed + `,"inventory":{"cluster":{"target":"cluster","uid":"u"}}}`, []string{"u a"}, true},
		"an older one too": {begin + `,` + managed + `,"inventory":{"cluster":{"target":"cluster","uid":"u"},"sites":[{"cluster":{"target":"old","uid":"o"},` +
			`"resources":[{"policy":"manage","resource":{"apiVersion":"v1","kind":"Secret","namespace":"ns","name":"b","uid":"2"}}]}]}}`, []string{"u a", "o b"}, true},
		"nobody says where": {begin + `,` + managed + `}`, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(tc.status)}
			sites, isKnown := New().Sites(item)
			assert.Equal(t, tc.isKnown, isKnown)
			var found []string
			for _, site := range sites {
				found = append(found, string(site.Cluster.UID)+" "+site.Resources[0].Resource.Name)
			}
			assert.Equal(t, tc.want, found)
		})
	}
}
