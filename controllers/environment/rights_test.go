// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counted is a binding that counts how often somebody looks at its name.
type counted struct {
	*rbacv1.RoleBinding
	looks *int
}

func (c counted) GetName() string {
	*c.looks++
	return c.RoleBinding.GetName()
}

func TestBindingsAreNotComparedWithEachOther(t *testing.T) {
	const count = 1000
	looks := 0
	var all []client.Object
	for i := range count {
		binding := &rbacv1.RoleBinding{}
		binding.Namespace, binding.Name = fmt.Sprint("n", i), "helm-east"
		all = append(all, counted{binding, &looks})
	}
	bindings := byPlace(all)
	for _, binding := range all {
		assert.Same(t, binding.(counted).RoleBinding, bindings.find(binding).(counted).RoleBinding)
	}
	assert.Equal(t, 2*count, looks)
}
