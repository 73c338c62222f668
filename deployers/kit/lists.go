// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ItemsOf returns the objects of a list, not copies of them.
func ItemsOf(list client.ObjectList) []client.Object {
	objects := make([]client.Object, 0, apimeta.LenList(list))
	_ = apimeta.EachListItem(list, func(object runtime.Object) error { // fails on what is no list only
		objects = append(objects, object.(client.Object))
		return nil
	})
	return objects
}
