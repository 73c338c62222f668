// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package data

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// data is a managed object with a name and a content.
func data(name, content string) client.Object {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}
