// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

// recordBefore writes the record of a deployed revision 1 with the labels that deployers of the release before gave it, and its object.
func (f *fixture) recordBefore(records driver.Driver) {
	f.Helper()
	now := helmtime.Now()
	require.NoError(f, storage.Init(records).Create(&release.Release{
		Name: "hello-world", Namespace: f.namespace, Version: 1,
		Info:     &release.Info{FirstDeployed: now, LastDeployed: now, Status: release.StatusDeployed, Description: "Install complete"},
		Chart:    &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "hello-world", Version: "1.0.0"}},
		Manifest: "---\n# Source: hello-world/templates/a\n" + named("a"),
		Labels: map[string]string{
			"helm.deployer.landscaper.gardener.cloud/deployitem":           f.item.Name,
			"helm.deployer.landscaper.gardener.cloud/deployitem-namespace": f.item.Namespace,
			"helm.deployer.landscaper.gardener.cloud/deployitem-uid":       string(f.item.UID),
			"helm.deployer.landscaper.gardener.cloud/revision":             "1",
			"landscaper.gardener.cloud/content":                            "0123456789abcdef",
			"landscaper.gardener.cloud/job":                                f.item.Status.JobID,
		},
	}))
	require.NoError(f, f.cluster.Client.Create(f.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Namespace: f.namespace, Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"},
		Annotations: map[string]string{"meta.helm.sh/release-name": "hello-world", "meta.helm.sh/release-namespace": f.namespace},
	}}))
	f.newJob()
}

func TestReleasesOfTheReleaseBeforeAreUpgradedAndUninstalled(t *testing.T) {
	for name, recordsIn := range map[string]func(*kubernetes.Clientset, string) driver.Driver{
		engine.DriverSecret: func(c *kubernetes.Clientset, namespace string) driver.Driver {
			return driver.NewSecrets(c.CoreV1().Secrets(namespace))
		},
		engine.DriverConfigMap: func(c *kubernetes.Clientset, namespace string) driver.Driver {
			return driver.NewConfigMaps(c.CoreV1().ConfigMaps(namespace))
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.options.Driver = name
			clients, err := kubernetes.NewForConfig(f.cluster.Config)
			require.NoError(t, err)
			records := recordsIn(clients, f.namespace)
			f.recordBefore(records)
			d := f.deployer()
			f.configure(config{"chart": f.chart("2.0.0", map[string]string{"b": named("b")})})

			f.succeed(d)

			f.configMap("b")
			require.Error(t, f.get("a", &corev1.ConfigMap{}), "the upgrade removes what the chart has no more")
			last, err := storage.Init(records).Last("hello-world")
			require.NoError(t, err)
			assert.Equal(t, 2, last.Version)
			f.remove(d)
			f.isEmpty()
		})
	}
}
