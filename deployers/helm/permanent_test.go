// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatCanOnlyBeRepeatedFailsAtOnce runs jobs in both modes. What is empty is said in both, what has a dash is tried with a release only: both modes
// render in the same way.
func TestWhatCanOnlyBeRepeatedFailsAtOnce(t *testing.T) {
	for name, one := range map[string]struct {
		template       string
		release, plain string
	}{
		"a parse error":                   {"a: {{ .Values.a ", "parse error at (hello-world/templates/x.yaml:1): unclosed action", ""},
		"a parse error beside a lookup":   {"{{ lookup \"v1\" \"Secret\" \"\" \"\" }}{{ .Values.a ", "parse error at (hello-world/templates/x.yaml:1)", ""},
		"a missing value":                 {named("a") + "data: {a: {{ required \"give a zone\" .Values.zone }}}", "give a zone", "-"},
		"a nil pointer":                   {named("a") + "data: {a: {{ .Values.zone.name }}}", "nil pointer evaluating interface {}.name", "-"},
		"fail":                            {"{{ fail \"not like this\" }}", "not like this", "-"},
		"no YAML":                         {"a: b: c", "hello-world/templates/x.yaml", ""},
		"no kind":                         {"apiVersion: v1\nmetadata: {name: a}\n", "file hello-world/templates/x.yaml of the chart renders to an object without kind", "-"},
		"no apiVersion":                   {"kind: ConfigMap\nmetadata: {name: a}\n", "an object without apiVersion", "-"},
		"no name":                         {"apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}\n", "an object without metadata.name, and generateName", ""},
		"an invalid object":               {named("Not_a_name"), "is invalid: metadata.name: Invalid value", ""},
		"a field of another type":         {deploymentWith("replicas: many"), "replicas", "replicas"},
		"a version of Kubernetes to come": {"Chart.yaml", "chart requires kubeVersion: >=1.99.0", "-"},
	} {
		for mode, isRelease := range modes {
			says := one.release
			if !isRelease && one.plain != "" {
				says = one.plain
			}
			if says == "-" {
				continue
			}
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				files := map[string]string{"templates/x.yaml": one.template}
				if one.template == "Chart.yaml" {
					files = map[string]string{"Chart.yaml": "apiVersion: v2\nname: hello-world\nversion: 1.0.0\nkubeVersion: '>=1.99.0'\n"}
				}
				f.configure(config{"chart": raw(archive(t, "1.0.0", files)), "helmDeployment": isRelease})
				err := f.fail(f.deployer())
				require.ErrorContains(t, err, says)
				assert.True(t, isFinal(err), err)
			})
		}
	}
}

func deploymentWith(field string) string {
	return strings.Replace(deploymentTemplate, "replicas: 1", field, 1)
}

// TestWhatTheClusterMayChangeIsTriedAgain has rendering errors that depend on what the cluster has, and on a port that may become free.
func TestWhatTheClusterMayChangeIsTriedAgain(t *testing.T) {
	for name, template := range map[string]string{
		"a lookup":    "{{ $found := lookup \"v1\" \"Secret\" .Release.Namespace \"zone\" }}{{ if not $found }}{{ fail \"not yet\" }}{{ end }}",
		"a kind":      "{{ if not (.Capabilities.APIVersions.Has \"example.org/v1\") }}{{ fail \"not yet\" }}{{ end }}",
		"a late kind": "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: a}\n",
	} {
		for mode, isRelease := range modes {
			t.Run(name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t)
				f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/x.yaml": template})), "helmDeployment": isRelease})
				assert.False(t, isFinal(f.fail(f.deployer())))
			})
		}
	}
}

func TestCommentsAndListsAreNoMistakes(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{
		"templates/a.yaml": "# a licence\n---\n# another one\n---\n" + named("a") + "---\n",
		"templates/b.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n",
		"templates/c.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
	}))})
	f.succeed(f.deployer())
	assert.False(t, f.isGone("a") || f.isGone("b") || f.isGone("c"))
}

func TestARecordThatIsTooLargeFailsAtOnce(t *testing.T) {
	f := newFixture(t)
	content := make([]byte, 1<<20)
	_, _ = rand.Read(content)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{
		"templates/a.yaml": named("a"), "files/noise.txt": base64.StdEncoding.EncodeToString(content),
	}))})
	err := f.fail(f.deployer())
	require.ErrorContains(t, err, "set helmDeployment to false, which keeps no record")
	assert.True(t, isFinal(err))
}

// TestSettingsSayHowOftenARefusalIsTried leaves the count to those that give one.
func TestSettingsSayHowOftenARefusalIsTried(t *testing.T) {
	for name, install := range map[string]config{"retries": {"retries": 3}, "atomic": {"atomic": true}, "remediation": {"remediation": config{"retries": 3}}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(f.with(map[string]string{"templates/x.yaml": named("Refused")}, config{"install": install}))
			assert.False(t, isFinal(f.fail(f.deployer())))
		})
	}
}
