// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const header = `"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration", `

func TestDecodeConfiguration(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"complete":            {`{` + header + `"name": "a", "namespace": "b", "chart": {"ref": "x/y:1"}}`, ""},
		"without version":     {`{"name": "a"}`, ""},
		"unknown keys":        {`{"name": "a", "unknown": {"x": 1}}`, ""},
		"other kind":          {`{"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "Other"}`, `kind: "Other"`},
		"other version":       {`{"apiVersion": "v1", "kind": "ProviderConfiguration"}`, `apiVersion: "v1"`},
		"wrong type":          {`{"name": 1}`, "name: is a JSON number"},
		"wrong type, nested":  {`{"chart": {"ref": true}}`, "chart.ref: is a JSON bool"},
		"no JSON":             {`{`, "the document is not JSON"},
		"document wrong type": {`[]`, "the document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := v1alpha1.DecodeConfiguration([]byte(tc.raw))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestKeysAreCaseSensitive(t *testing.T) {
	config, err := v1alpha1.DecodeConfiguration([]byte(`{"Name": "a", "namespace": "b"}`))
	require.NoError(t, err)
	assert.Empty(t, config.Name)
	assert.Equal(t, "b", config.Namespace)
}

func TestHelmDeploymentIsTheDefault(t *testing.T) {
	for raw, want := range map[string]bool{`{}`: true, `{"helmDeployment": true}`: true, `{"helmDeployment": false}`: false} {
		config, err := v1alpha1.DecodeConfiguration([]byte(raw))
		require.NoError(t, err)
		assert.Equal(t, want, config.IsHelmDeployment(), raw)
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct{ fields, want string }{
		"registry":            {`"chart": {"ref": "example.org/a:1.0.0"}`, ""},
		"registry and digest": {`"chart": {"ref": "example.org/a:1.0.0@sha256:00"}`, ""},
		"digest only":         {`"chart": {"ref": "example.org/a@sha256:00"}`, "has no tag"},
		"port is no tag":      {`"chart": {"ref": "example.org:5000/a"}`, "has no tag"},
		"no source":           {`"chart": {}`, "chart: names no source"},
		"archive":             {`"chart": {"archive": {"raw": "aGVsbG8="}}`, ""},
		"empty archive":       {`"chart": {"archive": {}}`, "chart.archive: is empty"},
		"remote archive":      {`"chart": {"archive": {"remote": {"url": "https://example.org/a.tgz"}}}`, ""},
		"file":                {`"chart": {"archive": {"remote": {"url": "file:///etc/passwd"}}}`, "chart.archive.remote.url: is not an http or https URL"},
		"repository":          {`"chart": {"helmChartRepo": {"helmChartRepoUrl": "example.org/charts", "helmChartName": "a", "helmChartVersion": "1"}}`, ""},
		"repository in a registry": {
			`"chart": {"helmChartRepo": {"helmChartRepoUrl": "oci://example.org/charts", "helmChartName": "a", "helmChartVersion": "1.x"}}`, "",
		},
		"repository with a login": {
			`"chart": {"helmChartRepo": {"helmChartRepoUrl": "oci://me:secret@example.org", "helmChartName": "a", "helmChartVersion": "1"}}`,
			"helmChartRepoUrl: is not an http, https or oci URL",
		},
		"repository, no name":    {`"chart": {"helmChartRepo": {"helmChartRepoUrl": "example.org", "helmChartVersion": "1"}}`, "helmChartName: is empty"},
		"source":                 {`"chart": {"sourceRef": {"kind": "HelmChart", "name": "a"}}`, ""},
		"source of other kind":   {`"chart": {"sourceRef": {"kind": "HelmRepository", "name": "a"}}`, "chart.sourceRef.kind"},
		"archive wins":           {`"chart": {"archive": {"raw": "aGVsbG8="}, "ref": "no tag"}`, ""},
		"strategy":               {`"chart": {"ref": "a/b:1"}, "updateStrategy": "merge"`, `updateStrategy: "merge"`},
		"settings":               {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"atomic": true, "timeout": "1m"}}`, ""},
		"uninstall is stricter":  {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"uninstall": {"atomic": true}}`, "uninstall.atomic: is unknown"},
		"retries":                {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"retries": 0}}`, ""},
		"negative retries":       {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"retries": -1}}`, "install.retries: is less than 0"},
		"bad timeout":            {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"timeout": "soon"}}`, "install.timeout"},
		"crds":                   {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"crds": "CreateReplace"}}`, ""},
		"unknown crds":           {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"crds": "create"}}`, "upgrade.crds: \"create\" is unknown, use one of Skip, Create, CreateReplace"},
		"unknown propagation":    {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"uninstall": {"deletionPropagation": "slow"}}`, "uninstall.deletionPropagation: \"slow\" is unknown"},
		"contradiction":          {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"waitForJobs": true, "disableWaitForJobs": true}}`, "install.disableWaitForJobs: contradicts"},
		"no cleanup of installs": {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"cleanupOnFail": true}}`, "install.cleanupOnFail: is unknown"},
		"remediation": {
			`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"remediation": {"retries": -1}},
			"upgrade": {"remediation": {"retries": 3, "strategy": "uninstall", "remediateLastFailure": true}}, "rollback": {"recreate": true, "wait": true}}`, "",
		},
		"remediation, no number":   {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"remediation": {"retries": -2}}}`, "upgrade.remediation.retries: is less than -1"},
		"remediation, strategy":    {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"remediation": {"strategy": "pray"}}}`, `upgrade.remediation.strategy: "pray" is unknown`},
		"remediation of installs":  {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"remediation": {"strategy": "rollback"}}}`, "install.remediation.strategy: is for upgrades only"},
		"remediation and atomic":   {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"atomic": true, "remediation": {}}}`, "upgrade.atomic: contradicts remediation"},
		"remediation and retries":  {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"retries": 1, "remediation": {}}}`, "upgrade.retries: contradicts remediation"},
		"remediation, unknown key": {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"upgrade": {"remediation": {"retry": 1}}}`, "upgrade.remediation.retry: the key is unknown"},
		"remediation of uninstall": {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"uninstall": {"remediation": {}}}`, "uninstall.remediation: is unknown"},
		"unknown in rollback":      {`"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"rollback": {"atomic": true}}`, "rollback.atomic: is unknown"},
		"tests":                    {`"chart": {"ref": "a/b:1"}, "test": {"enable": true, "timeout": "1m", "filters": [{"name": "a", "exclude": true}]}`, ""},
		"tests without release":    {`"chart": {"ref": "a/b:1"}, "helmDeployment": false, "test": {"enable": true}`, "test.enable: needs a Helm release"},
		"filter without name":      {`"chart": {"ref": "a/b:1"}, "test": {"filters": [{}]}`, "test.filters[0].name: is empty"},
		"post renderer": {
			`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"patches": [{"patch": "- {op: remove, path: /data}",
			"target": {"kind": "ConfigMap", "labelSelector": "a=b"}}], "images": [{"name": "nginx", "newTag": "2"}]}}]`, "",
		},
		"post renderer of nothing": {`"chart": {"ref": "a/b:1"}, "postRenderers": [{}]`, "postRenderers[0].kustomize: is missing"},
		"patch of nothing":         {`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"patches": [{"patch": " "}]}}]`, "postRenderers[0].kustomize.patches[0].patch: is empty"},
		"patch without target":     {`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"patches": [{"patch": "[]"}]}}]`, "patches[0].target: is missing"},
		"patch that is not YAML":   {`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"patches": [{"patch": "a: [s3cret"}]}}]`, "patches[0].patch: "},
		"target that is no regexp": {`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"patches": [{"patch": "[]", "target": {"name": "("}}]}}]`, `target.name: "(" is not a regular expression`},
		"target, bad selector":     {`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"patches": [{"patch": "[]", "target": {"labelSelector": "a in"}}]}}]`, `target.labelSelector: "a in" is not a selector`},
		"image without name":       {`"chart": {"ref": "a/b:1"}, "postRenderers": [{"kustomize": {"images": [{"newTag": "a"}]}}]`, "images[0].name: is empty"},
		"history":                  {`"chart": {"ref": "a/b:1"}, "maxHistory": 0`, ""},
		"negative history":         {`"chart": {"ref": "a/b:1"}, "maxHistory": -1`, "maxHistory: is less than 0"},
		"metadata":                 {`"chart": {"ref": "a/b:1"}, "commonMetadata": {"labels": {"a": "b"}, "annotations": {"a.b/c": "any text"}}`, ""},
		"bad label":                {`"chart": {"ref": "a/b:1"}, "commonMetadata": {"labels": {"a": "b c"}}`, "commonMetadata.labels: "},
		"values from":              {`"chart": {"ref": "a/b:1"}, "valuesFrom": [{"kind": "Secret", "name": "a", "valuesKey": "b", "targetPath": "c[0].d", "optional": true}]`, ""},
		"values of a Pod":          {`"chart": {"ref": "a/b:1"}, "valuesFrom": [{"kind": "Pod", "name": "a"}]`, "valuesFrom[0].kind: \"Pod\" is unknown"},
		"values of nothing":        {`"chart": {"ref": "a/b:1"}, "valuesFrom": [{"kind": "Secret"}]`, "valuesFrom[0].name: is empty"},
		"values of a path":         {`"chart": {"ref": "a/b:1"}, "valuesFrom": [{"kind": "Secret", "name": "../a"}]`, "valuesFrom[0].name: \"../a\" cannot"},
		"a key with a slash":       {`"chart": {"ref": "a/b:1"}, "valuesFrom": [{"kind": "Secret", "name": "a", "valuesKey": "a/b"}]`, "valuesFrom[0].valuesKey: \"a/b\" cannot"},
		"bad annotation":           {`"chart": {"ref": "a/b:1"}, "commonMetadata": {"annotations": {"a b": ""}}`, "commonMetadata.annotations: \"a b\": "},
		"export twice": {`"chart": {"ref": "a/b:1"}, "exports": {"exports": [{"key": "a", "jsonPath": ".x"}]},
			"exportsFromManifests": [{"key": "a", "jsonPath": ".y"}]`, `"a" is used twice`},
		"deletion group": {`"chart": {"ref": "a/b:1"}, "deletionGroups": [{}]`, "deletionGroups[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := v1alpha1.DecodeConfiguration([]byte(`{"name": "a", "namespace": "b", ` + tc.fields + `}`))
			require.NoError(t, err)
			err = v1alpha1.Validate(config)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestDecodeSettings(t *testing.T) {
	settings, err := v1alpha1.DecodeSettings("x", map[string]landscaper.AnyJSON{
		"atomic": landscaper.NewAnyJSON([]byte("true")), "timeout": landscaper.NewAnyJSON([]byte(`"90s"`)),
	})
	require.NoError(t, err)
	assert.True(t, settings.Atomic)
	assert.False(t, settings.Wait)
	assert.Equal(t, 90*time.Second, settings.Timeout.Duration)
}

func TestDecodeValuesHidesThem(t *testing.T) {
	_, err := v1alpha1.DecodeValues(landscaper.NewAnyJSON([]byte(`"a-secret"`)))
	require.ErrorContains(t, err, "found a JSON string")
	assert.NotContains(t, err.Error(), "a-secret")
}

func TestStatusRoundTrip(t *testing.T) {
	status, err := v1alpha1.DecodeStatus(nil)
	require.NoError(t, err)
	status.Release = &v1alpha1.ReleaseStatus{Name: "a", Namespace: "b", Revision: 3}
	encoded, err := v1alpha1.EncodeStatus(status)
	require.NoError(t, err)
	decoded, err := v1alpha1.DecodeStatus(encoded.Raw)
	require.NoError(t, err)
	assert.Equal(t, status, decoded)
	assert.Equal(t, "ProviderStatus", decoded.Kind)
}

func TestRepositoryURL(t *testing.T) {
	for raw, want := range map[string]string{
		"example.org/charts/": "https://example.org/charts", "http://example.org": "http://example.org",
	} {
		assert.Equal(t, want, v1alpha1.RepositoryURL(raw))
	}
}

func FuzzDecodeConfiguration(f *testing.F) {
	f.Add([]byte(`{` + header + `"chart": {"ref": "a/b:1"}, "helmDeploymentConfig": {"install": {"timeout": "1m"}}}`))
	f.Add([]byte(`{"exports": {"exports": [{"key": "a"}]}, "deletionGroups": [null]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		config, err := v1alpha1.DecodeConfiguration(raw)
		if err != nil {
			return
		}
		if v1alpha1.Validate(config) == nil {
			assert.NotEmpty(t, config.Name)
			assert.NotEmpty(t, config.Namespace)
		}
	})
}

func TestNamesThatHelmRefuses(t *testing.T) {
	no := false
	for name, one := range map[string]struct{ name, namespace, says string }{
		"an underscore":            {"Under_Score", "shop", `name: "Under_Score" cannot be the name of a Helm release; use at most 53`},
		"too long":                 {strings.Repeat("r", 54), "shop", "cannot be the name of a Helm release"},
		"the longest":              {strings.Repeat("r", 53), "shop", ""},
		"dots":                     {"a.b", "shop", ""},
		"a namespace with capital": {"a", "Shop", `namespace: "Shop" cannot be the name of a namespace`},
	} {
		t.Run(name, func(t *testing.T) {
			config := &v1alpha1.ProviderConfiguration{Name: one.name, Namespace: one.namespace, Chart: v1alpha1.Chart{Ref: "host/a:1"}}
			if one.says == "" {
				require.NoError(t, v1alpha1.Validate(config))
			} else {
				require.ErrorContains(t, v1alpha1.Validate(config), one.says)
			}
			config.HelmDeployment = &no
			assert.NoError(t, v1alpha1.Validate(config), "without a release it is only a word")
		})
	}
}

func TestDecodeValuesKeepsWholeNumbers(t *testing.T) {
	values, err := v1alpha1.DecodeValues(landscaper.NewAnyJSON([]byte(`{"id":1234567890123456789,"half":0.5}`)))
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"id": int64(1234567890123456789), "half": 0.5}, values)
	_, err = v1alpha1.DecodeValues(landscaper.NewAnyJSON([]byte(`{"ids":[12345678901234567890]}`)))
	assert.ErrorContains(t, err, "values: the object has a whole number of more than 64 bits at ids[0]")
}
