// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestTargetNameOfTheAnnotationComesFirst(t *testing.T) {
	item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Target: &v1alpha1.DeployItemTarget{Name: "spec"}}}
	assert.Equal(t, "spec", TargetName(item))
	item.Annotations = map[string]string{v1alpha1.DeployerTargetNameAnnotation: "annotation"}
	assert.Equal(t, "annotation", TargetName(item))
}
