// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestSites(t *testing.T) {
	key := types.NamespacedName{Namespace: "n", Name: "item"}
	request := ctrl.Request{NamespacedName: key}
	item := &v1alpha1.DeployItem{}
	item.Namespace, item.Name = key.Namespace, key.Name
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "cluster"}
	s := &Sites{}
	at := func() string { return s.Address(s.Of(request)) }
	assert.Empty(t, at(), "nothing is known")
	s.Note(item)
	assert.Equal(t, "n/cluster", at(), "nobody has opened it")
	cluster := &target.Cluster{Config: &rest.Config{Host: "https://a"}}
	s.Opened(key, "other", cluster)
	assert.Equal(t, "n/cluster", at(), "another Target was opened")
	s.Opened(key, "cluster", cluster)
	s.Note(item)
	assert.Equal(t, "https://a", at())
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "other"}
	s.Note(item)
	assert.Equal(t, "n/other", at(), "it has another Target")
	s.Forget(key)
	s.Forget(key)
	assert.Empty(t, s.targets)
	assert.Empty(t, s.hosts)
	assert.Empty(t, s.users)
}
