// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"encoding/base64"
	"flag"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// registrations is how many deployers each environment gets.
const registrations = 4

// promised is the time in which the deployers of 50 environments are installed.
const promised = time.Minute

// environments is how many environments BenchmarkEnvironments has.
var environments = flag.Int("environments", 50, "how many environments the benchmark has")

// chartOf is a deploy item that installs a chart with one ConfigMap, as the name of the pair.
func chartOf(b *testing.B) string {
	b.Helper()
	packed, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: deployer\nversion: 1.0.0\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n",
	}))
	require.NoError(b, err)
	return "- name: deploy\n  type: landscaper.gardener.cloud/helm\n  target: {import: cluster}\n  config:\n" +
		"    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1\n    kind: ProviderConfiguration\n" +
		"    name: {{ .imports.identity }}\n    namespace: fence\n    chart: {archive: {raw: " + base64.StdEncoding.EncodeToString(packed) + "}}\n"
}

// BenchmarkEnvironments has deployers installed into many environments that register at once, and uninstalled when all are deleted. One helm deployer
// does the work of all agents; their Environments and Leases are written by the benchmark.
func BenchmarkEnvironments(b *testing.B) {
	for range b.N {
		s := newScene(b)
		namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: "fence"}}
		require.NoError(b, s.Apply(s.Ctx, namespace))
		item := chartOf(b)
		var deployers []*v1alpha1.DeployerRegistration
		for i := range registrations {
			deployers = append(deployers, register(s, fmt.Sprintf("deployer-%d", i), item))
		}
		b.ResetTimer()
		began := time.Now()
		registered := installed(s, deployers)
		took := time.Since(began)
		b.ReportMetric(took.Seconds(), "installed-s")
		if *environments <= 50 {
			require.Less(b, took, promised, "the time in docs/operations.md")
		}
		for _, env := range registered {
			require.NoError(b, s.Await(s.Ctx, env, func() bool { return conditions.IsReady(env) && len(env.Status.Deployers) == registrations }))
		}
		b.ReportMetric(time.Since(began).Seconds(), "shown-s")
		reportRequests(b, s, began)
		began = time.Now()
		for _, env := range registered {
			s.Delete(env)
		}
		for _, env := range registered {
			s.Gone(env)
		}
		b.ReportMetric(time.Since(began).Seconds(), "gone-s")
		b.StopTimer()
		for _, deployer := range deployers {
			s.Delete(deployer)
			s.Gone(deployer)
		}
	}
}

// installed registers the environments and waits until all Installations have succeeded.
func installed(s *landscape.Scene, deployers []*v1alpha1.DeployerRegistration) []*v1alpha1.Environment {
	s.T.Helper()
	var registered []*v1alpha1.Environment
	for i := range *environments {
		name := fmt.Sprintf("env-%d", i)
		registered = append(registered, environment(s, name))
		sign(s, name)
	}
	for _, env := range registered {
		for _, deployer := range deployers {
			s.Succeeded(deployer.Name + "-" + env.Name)
		}
	}
	return registered
}

// reportRequests reports what our processes asked of the API server since a moment, for each Installation: reads, writes, and lost races.
func reportRequests(b *testing.B, s *landscape.Scene, since time.Time) {
	b.Helper()
	requests, err := s.Requests(s.Ctx, since)
	require.NoError(b, err)
	var reads, writes, conflicts float64
	for _, request := range requests {
		switch {
		case s.Processes[request.User] == nil:
		case request.Code == http.StatusConflict:
			conflicts++
		case request.Writes():
			writes++
		case request.Verb != "watch":
			reads++
		}
	}
	all := float64(*environments * registrations)
	b.ReportMetric(reads/all, "reads/installation")
	b.ReportMetric(writes/all, "writes/installation")
	b.ReportMetric(conflicts/all, "conflicts/installation")
}
