// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package lists compares what Helm builds from the manifests of a release, without looking at each pair of objects. It promises nothing to others.
package lists

import (
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
)

// Few refuses more objects than a record may have: Helm compares each of one revision with each of another, and goes on when nobody waits any more.
func Few(objects kube.ResourceList) error {
	if len(objects) > records.MaxObjects {
		return fmt.Errorf("the manifest has %d objects, those of Lists included, more than %d; split the chart, or delete the record of the revision",
			len(objects), records.MaxObjects)
	}
	return nil
}

// identity is what Helm tells objects apart by.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

func identityOf(info *resource.Info) identity {
	return identity{info.Mapping.GroupVersionKind.GroupKind(), info.Namespace, info.Name}
}

// Common returns the objects that others have too. It is Helm's Intersect, which compares each with each.
func Common(objects, others kube.ResourceList) kube.ResourceList {
	has := identitiesOf(others)
	return objects.Filter(func(info *resource.Info) bool { return has[identityOf(info)] })
}

// Without returns the objects that others do not have. It is Helm's Difference, which compares each with each.
func Without(objects, others kube.ResourceList) kube.ResourceList {
	has := identitiesOf(others)
	return objects.Filter(func(info *resource.Info) bool { return !has[identityOf(info)] })
}

func identitiesOf(objects kube.ResourceList) map[identity]bool {
	found := make(map[identity]bool, len(objects))
	for _, info := range objects {
		found[identityOf(info)] = true
	}
	return found
}
