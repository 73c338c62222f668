// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// awaitNothingLeft waits until the record shows nothing but what the test itself has made, and checks that the API server agrees.
func (p *play) awaitNothingLeft() {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience())
	defer cancel()
	var left []string
	err := p.record.await(ctx, func() bool {
		left = p.record.leftovers(p.isOwn)
		return len(left) == 0
	})
	require.NoError(p.T, err, "left: %v", left)
	var there []string
	for _, kind := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.DataObjectList{}, &v1alpha1.TargetList{},
		&corev1.SecretList{}, &corev1.ConfigMapList{},
	} {
		require.NoError(p.T, p.Client().List(p.Ctx, kind, client.InNamespace(p.Namespace)))
		items, err := meta.ExtractList(kind)
		require.NoError(p.T, err)
		for _, item := range items {
			name := nameOf(item.(client.Object))
			there = append(there, name)
			if !p.isOwn(name) {
				p.record.historyOf(p.T, func(work worker) bool { return serves(work, item.(client.Object).GetName()) })
				p.T.Fatalf("%s is left: %v", name, item)
			}
		}
	}
	require.Subset(p.T, there, p.kept, "what suspended roots deployed stays")
}

// serves reports whether an object is the DeployItem that puts something of a name on the target.
func serves(work worker, name string) bool {
	return work.GetLabels()[v1alpha1.ExecutionManagedNameLabel] == name
}

// keep notes what a suspended root leaves where it is when it is deleted.
func (p *play) keep(r *root) {
	p.T.Helper()
	deployed := &corev1.ConfigMapList{}
	require.NoError(p.T, p.Client().List(p.Ctx, deployed, client.InNamespace(p.Namespace)))
	for _, one := range deployed.Items {
		if strings.HasPrefix(one.Labels[v1alpha1.ManifestDeployItemLabel], r.name+"-") {
			p.kept = append(p.kept, "ConfigMap/"+one.Name)
		}
	}
}

// isOwn reports whether the test, or the cluster itself, made an object that nobody has deleted.
func (p *play) isOwn(name string) bool {
	return name == "Target/"+targetName || name == "ConfigMap/kube-root-ca.crt" || slices.Contains(p.kept, name) ||
		slices.ContainsFunc(p.candidates(nil), func(data string) bool { return name == "DataObject/"+data })
}

// leftovers returns the names of living objects, except some.
func (r *record) leftovers(except func(name string) bool) []string {
	var left []string
	for _, states := range r.objects {
		if last := states[len(states)-1]; !last.gone && !except(nameOf(last.object)) {
			left = append(left, nameOf(last.object))
		}
	}
	slices.Sort(left)
	return left
}
