// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// Namespaces of what both sides bring, and of what they are told to bring.
const (
	rivalNamespace  = "rivals"
	rivalDeployed   = "rivals-deployed"
	versionLabel    = "app.kubernetes.io/version"
	rivalPadding    = 1000 // bytes of text in each ConfigMap and Secret
	objectsPerUnit  = 10
	configMapsEach  = 4
	rivalChartTag   = "1.0.0"
	rivalSourceLife = "24h" // until a source looks for news, longer than any run
)

// objectsOf returns the ten objects of a unit. None needs a controller to become ready, so that what is measured is work and not waiting.
func objectsOf(name, namespace, version string) []client.Object {
	meta := func(suffix string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name + suffix, Namespace: namespace, Labels: map[string]string{
			"app.kubernetes.io/name": name, versionLabel: version,
		}}
	}
	kind := func(group, name string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: group, Kind: name} }
	text := strings.Repeat("All work and no play. ", rivalPadding/22)
	var objects []client.Object
	for i := range configMapsEach {
		objects = append(objects, &corev1.ConfigMap{TypeMeta: kind("v1", "ConfigMap"), ObjectMeta: meta(fmt.Sprintf("-settings-%d", i)),
			Data: map[string]string{"version": version, "text": text}})
	}
	for i := range 2 {
		objects = append(objects, &corev1.Secret{TypeMeta: kind("v1", "Secret"), ObjectMeta: meta(fmt.Sprintf("-secret-%d", i)),
			Type: corev1.SecretTypeOpaque, Data: map[string][]byte{"token": []byte(version + text)}})
	}
	return append(objects,
		&corev1.ServiceAccount{TypeMeta: kind("v1", "ServiceAccount"), ObjectMeta: meta("")},
		&corev1.Service{TypeMeta: kind("v1", "Service"), ObjectMeta: meta(""), Spec: corev1.ServiceSpec{
			ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
		}},
		&rbacv1.Role{TypeMeta: kind(rbacv1.SchemeGroupVersion.String(), "Role"), ObjectMeta: meta(""), Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}},
		}},
		&rbacv1.RoleBinding{TypeMeta: kind(rbacv1.SchemeGroupVersion.String(), "RoleBinding"), ObjectMeta: meta(""),
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace}},
		},
	)
}

// manifestOf returns an object as a person writes it.
func manifestOf(obj client.Object) map[string]any {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	var manifest map[string]any
	if err := json.Unmarshal(raw, &manifest); err != nil {
		panic(err)
	}
	delete(manifest, "status")
	return manifest
}

// yamlOf returns the ten objects of a unit, each as a document.
func yamlOf(name, namespace, version string) []string {
	var documents []string
	for _, obj := range objectsOf(name, namespace, version) {
		raw, err := yaml.Marshal(manifestOf(obj))
		if err != nil {
			panic(err)
		}
		documents = append(documents, string(raw))
	}
	return documents
}

// chartOf returns a chart with the ten objects in a file each. The name of the release and the value "version" decide how they come out.
func chartOf(name string) ([]byte, error) {
	files := map[string]string{
		"Chart.yaml":  fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, rivalChartTag),
		"values.yaml": "version: none\n",
	}
	const placeName, placeNamespace, placeVersion = "place-of-name", "place-of-namespace", "place-of-version"
	places := strings.NewReplacer(placeNamespace, "{{ .Release.Namespace }}", placeName, "{{ .Release.Name }}",
		placeVersion, "{{ .Values.version }}")
	for i, obj := range objectsOf(placeName, placeNamespace, placeVersion) {
		manifest := manifestOf(obj)
		if secret, ok := obj.(*corev1.Secret); ok {
			delete(manifest, "data")
			manifest["stringData"] = map[string]string{"token": string(secret.Data["token"])}
		}
		raw, err := yaml.Marshal(manifest)
		if err != nil {
			return nil, err
		}
		files[fmt.Sprintf("templates/object-%d.yaml", i)] = places.Replace(string(raw))
	}
	return servers.PackageChart(servers.Files(files))
}

// publishChart pushes the chart of a unit and makes the source that both sides take it from.
func (r *rivalry) publishChart(ctx context.Context, unit string) error {
	chart, err := chartOf(unit)
	if err != nil {
		return err
	}
	if _, err := r.Registry.PushHelmChart(ctx, "charts/"+unit, rivalChartTag, chart); err != nil {
		return err
	}
	return r.createSource(ctx, unit, "charts/"+unit, map[string]any{"mediaType": servers.HelmChartMediaType, "operation": "copy"})
}

// publishManifests pushes the objects of a unit, one folder for each version, and makes the source that Kustomizations take them from.
func (r *rivalry) publishManifests(ctx context.Context, unit string) error {
	files := map[string]string{}
	for _, version := range []string{"v1", "v2"} {
		files[version+"/objects.yaml"] = strings.Join(yamlOf(unit, rivalDeployed, version), "---\n")
	}
	if _, err := r.Registry.PushFluxArtifact(ctx, "manifests/"+unit, rivalChartTag, servers.Files(files)); err != nil {
		return err
	}
	return r.createSource(ctx, unit, "manifests/"+unit, nil)
}

func (r *rivalry) createSource(ctx context.Context, unit, repository string, layer map[string]any) error {
	spec := map[string]any{
		"interval": rivalSourceLife, "insecure": true, "url": r.Registry.URL(repository), "ref": map[string]any{"tag": rivalChartTag},
	}
	if layer != nil {
		spec["layerSelector"] = layer
	}
	source := r.object(sourcev1.GroupVersion.WithKind(sourcev1.OCIRepositoryKind), unit)
	source.Object["spec"] = spec
	return r.writer.Create(ctx, source)
}

// publish makes the sources of all units and of the one that warms both sides up, and waits until they have artifacts.
func (r *rivalry) publish(ctx context.Context, units int, one func(ctx context.Context, unit string) error) error {
	ready := func(name string) error {
		source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: rivalNamespace}}
		return r.AwaitReady(ctx, source)
	}
	return rig.Parallel(ctx, options.workers, units+1, func(ctx context.Context, i int) error {
		name := rivalUnit(i)
		if i == units {
			name = rivalUnit(warmUpUnit)
		}
		if err := one(ctx, name); err != nil {
			return fmt.Errorf("cannot publish %s: %w", name, err)
		}
		return ready(name)
	})
}

func rivalUnit(i int) string { return fmt.Sprintf("unit-%05d", i) }

// requireDeployed fails unless the objects of all units have a version; without units, unless nothing is left of them.
func (r *rivalry) requireDeployed(ctx context.Context, units int, version string) error {
	found := 0
	for _, list := range []client.ObjectList{
		&corev1.ConfigMapList{}, &corev1.SecretList{}, &corev1.ServiceAccountList{}, &corev1.ServiceList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
	} {
		metadata, err := r.deployedMetadata(ctx, list)
		if err != nil {
			return err
		}
		for _, one := range metadata {
			if one.Labels[versionLabel] != version {
				return fmt.Errorf("%T: %s has version %q in place of %q", list, one.Name, one.Labels[versionLabel], version)
			}
		}
		found += len(metadata)
	}
	if want := units * objectsPerUnit; found != want {
		return fmt.Errorf("%d objects are deployed in place of %d", found, want)
	}
	return nil
}

// deployedMetadata returns the metadata of what units have deployed, by the prefix of their names.
func (r *rivalry) deployedMetadata(ctx context.Context, list client.ObjectList) ([]metav1.ObjectMeta, error) {
	gvk, err := r.writer.GroupVersionKindFor(list)
	if err != nil {
		return nil, err
	}
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(gvk)
	if err := r.writer.List(ctx, partial, client.InNamespace(rivalDeployed)); err != nil {
		return nil, err
	}
	var all []metav1.ObjectMeta
	for i := range partial.Items {
		if strings.HasPrefix(partial.Items[i].Name, "unit-") {
			all = append(all, partial.Items[i].ObjectMeta)
		}
	}
	return all, nil
}
