// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// Names of the objects that all units of a set share.
const (
	targetName     = "cluster"
	secretName     = "cluster-access"
	dataObjectName = "settings"
)

// Units is a set of equal leaf Installations with inline blueprints. Each has one manifest DeployItem with one ConfigMap, which is
// called as the unit.
type Units struct {
	// Namespace of the Installations.
	Namespace string
	// Deployed is the namespace of the ConfigMaps.
	Deployed string
	// DataImport adds an import of the shared DataObject; the ConfigMap then holds its value.
	DataImport bool
	// Mock adds a mock DeployItem that depends on the manifest one.
	Mock bool
	// HelmChart adds to every unit whose number HelmEvery divides a helm DeployItem with this packaged chart.
	HelmChart []byte
	// HelmEvery is used with HelmChart only.
	HelmEvery int
	// HelmSettings are more lines of the configuration of helm DeployItems.
	HelmSettings []string
	// Strategy is the updateStrategy of manifest DeployItems; "" is update.
	Strategy string
	// Timeout is how long the manifest DeployItem may take; 0 leaves the default.
	Timeout time.Duration
	// Flow connects the units by data.
	Flow Flow
}

// Prepare makes the namespaces and what the units share: a Target with its kubeconfig in a Secret, and a DataObject. Deployers act
// on the target with the access of config.
func (u Units) Prepare(ctx context.Context, cluster *platform.Cluster, config *rest.Config) error {
	kubeconfig, err := platform.KubeconfigFor(config)
	if err != nil {
		return fmt.Errorf("cannot make the kubeconfig of the target: %w", err)
	}
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, Namespace: u.Namespace} }
	for _, name := range []string{u.Namespace, u.Deployed} {
		if err := cluster.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return cluster.Apply(ctx,
		&corev1.Secret{ObjectMeta: meta(secretName), Data: map[string][]byte{"kubeconfig": kubeconfig}},
		&v1alpha1.DataObject{TypeMeta: kind("DataObject"), ObjectMeta: meta(dataObjectName), Data: Encode(map[string]any{
			"region": "eu-west-1", "replicas": 3, "domain": "shop.example.org",
		})},
		&v1alpha1.Target{TypeMeta: kind("Target"), ObjectMeta: meta(targetName), Spec: v1alpha1.TargetSpec{
			Type:      v1alpha1.KubernetesClusterTargetType,
			SecretRef: &v1alpha1.LocalSecretReference{Name: secretName, Key: "kubeconfig"},
		}},
	)
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: name}
}

// Encode returns a value as the content of a field that takes any JSON.
func Encode(value any) v1alpha1.AnyJSON {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return v1alpha1.NewAnyJSON(raw)
}

// Name returns the name of unit i.
func (u Units) Name(i int) string { return fmt.Sprintf("unit-%05d", i) }

// Installation returns unit i. Version changes the spec and the ConfigMap.
func (u Units) Installation(i int, version string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{TypeMeta: kind("Installation")}
	inst.Name, inst.Namespace = u.Name(i), u.Namespace
	inst.Annotations = map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}
	inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "cluster", Target: targetName}}
	if u.DataImport {
		inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "settings", DataRef: dataObjectName}}
	}
	u.Flow.connect(inst, u, i)
	inst.Spec.Blueprint.Inline = &v1alpha1.InlineBlueprint{
		Filesystem: Encode(map[string]string{"blueprint.yaml": u.blueprint(i, version)}),
	}
	return inst
}

const blueprintHead = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports:
- name: cluster
  type: target
  targetType: landscaper.gardener.cloud/kubernetes-cluster
`

const blueprintData = `- name: settings
  type: data
  schema: {type: object}
`

const manifestItem = `deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: config
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
%[4]s      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        updateStrategy: %[5]s
        manifests:
        - policy: manage
          manifest:
            apiVersion: v1
            kind: ConfigMap
            metadata: {name: %[1]s, namespace: %[2]s}
            data:
              version: %[3]q
`

const manifestData = `              region: {{ .imports.settings.region }}
`

const mockItem = `    - name: pretend
      type: landscaper.gardener.cloud/mock
      dependsOn: [config]
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        phase: Succeeded
        providerStatus: {version: %q}
`

const helmItem = `    - name: chart
      type: landscaper.gardener.cloud/helm
      target: {import: cluster}
      config:
        apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        name: %[1]s
        namespace: %[2]s
        chart:
          archive: {raw: %[4]s}
        values: {version: %[3]q}
`

func (u Units) blueprint(i int, version string) string {
	var text strings.Builder
	text.WriteString(blueprintHead)
	if u.DataImport {
		text.WriteString(blueprintData)
	}
	text.WriteString(u.Flow.imports(i))
	timeout := ""
	if u.Timeout > 0 {
		timeout = fmt.Sprintf("      timeout: %s\n", u.Timeout)
	}
	fmt.Fprintf(&text, manifestItem, u.Name(i), u.Deployed, version, timeout, cmp.Or(u.Strategy, "update"))
	if u.DataImport {
		text.WriteString(manifestData)
	}
	text.WriteString(u.Flow.manifest(i))
	if u.Mock {
		fmt.Fprintf(&text, mockItem, version)
	}
	if u.HasHelm(i) {
		fmt.Fprintf(&text, helmItem, u.Name(i), u.Deployed, version, base64.StdEncoding.EncodeToString(u.HelmChart))
		for _, line := range u.HelmSettings {
			text.WriteString("        " + line + "\n")
		}
	}
	text.WriteString(u.Flow.exports(i, version))
	return text.String()
}

// HasReleases reports whether the helm DeployItems make releases.
func (u Units) HasReleases() bool { return !slices.Contains(u.HelmSettings, "helmDeployment: false") }

// HasHelm reports whether unit i has a helm DeployItem.
func (u Units) HasHelm(i int) bool { return len(u.HelmChart) > 0 && i%u.HelmEvery == 0 }
