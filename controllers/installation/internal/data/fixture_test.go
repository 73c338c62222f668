// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package data

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// working is an Installation in a job.
func working(name, uid, job string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid)}}
	inst.Status.JobID = job
	return inst
}

// data is a managed object with a name and a content.
func data(name, content string) client.Object {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}

// clusterTarget is a Target with labels and annotations of all kinds.
func clusterTarget() *v1alpha1.Target {
	config := v1alpha1.NewAnyJSON([]byte(`{"kubeconfig":"x","port":9007199254740993}`))
	return &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{
			Name: "cluster", Labels: map[string]string{"region": "eu", "landscaper.gardener.cloud/targetsync": "ok"},
			Annotations: map[string]string{"zone": "a"},
		},
		Spec: v1alpha1.TargetSpec{Type: "t", Configuration: &config},
	}
}
