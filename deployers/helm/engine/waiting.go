// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// waitingKey is the key of contexts for OnWait.
type waitingKey struct{}

// OnWait returns a context whose operations call waits each time they begin to wait for objects, hooks or room. The function has to return at once.
func OnWait(ctx context.Context, waits func()) context.Context {
	if waits == nil {
		return ctx
	}
	return context.WithValue(ctx, waitingKey{}, waits)
}

// waits says that an operation begins to wait.
func waits(ctx context.Context) {
	if tell, ok := ctx.Value(waitingKey{}).(func()); ok {
		tell()
	}
}

// trusting calls what takes for granted that an API server has filled in the defaults of objects. It runs in a goroutine of Helm, whose panics nobody else
// can catch.
func trusting(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the cluster answers with objects in which fields are missing that every API server sets; see what serves them, and look for null in " +
				"lists of what is deployed")
		}
	}()
	return call()
}

// awaitHooks waits until all objects of a hook have ended, and at most until the operation has.
func (s *sparing) awaitHooks(objects kube.ResourceList, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	var running errgroup.Group
	for _, info := range objects {
		running.Go(func() error {
			return trusting(func() error { return s.awaitHook(ctx, info) })
		})
	}
	return running.Wait()
}

// awaitHook waits until a Job or Pod has ended; other objects have at once. What a watch shows is not turned into a Go type, as Helm itself does it in a
// goroutine whose panics nobody can catch.
func (s *sparing) awaitHook(ctx context.Context, info *resource.Info) error {
	kind := info.Mapping.GroupVersionKind.GroupKind()
	if kind != jobKind && kind != podKind {
		return nil
	}
	s.Log("Watching for changes to %s %s", kind.Kind, info.Name)
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, info.Name)
	source := cache.NewListWatchFromClient(info.Client, info.Mapping.Resource.Resource, info.Namespace, selector)
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		s.Log("%s event for %s", event.Type, info.Name)
		switch event.Type {
		case watch.Added, watch.Modified:
			return hookEnded(kind, info.Name, event.Object)
		case watch.Deleted:
			return true, nil
		case watch.Error:
			return true, fmt.Errorf("failed to deploy %s", info.Name)
		}
		return false, nil
	})
	return err
}

var (
	jobKind = schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}
	podKind = schema.GroupKind{Kind: "Pod"}
)

// hookEnded reports whether a Job or Pod has ended; a bad end is an error.
func hookEnded(kind schema.GroupKind, name string, seen runtime.Object) (bool, error) {
	object, isObject := seen.(*unstructured.Unstructured)
	if !isObject {
		return true, fmt.Errorf("expected %s to be a %s, got %T", name, kind.Kind, seen)
	}
	if kind == podKind {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		if phase == string(corev1.PodFailed) {
			return true, fmt.Errorf("pod %s failed", name)
		}
		return phase == string(corev1.PodSucceeded), nil
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		if condition["status"] != string(corev1.ConditionTrue) {
			continue
		}
		switch condition["type"] {
		case string(batchv1.JobComplete):
			return true, nil
		case string(batchv1.JobFailed):
			reason, _ := condition["reason"].(string)
			return true, fmt.Errorf("job %s failed: %s", name, reason)
		}
	}
	return false, nil
}

// Wait waits until objects are ready.
func (s *sparing) Wait(resources kube.ResourceList, timeout time.Duration) error {
	waits(s.ctx)
	return trusting(func() error { return s.Client.Wait(resources, timeout) })
}

// WaitWithJobs waits until objects are ready and Jobs are complete.
func (s *sparing) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	waits(s.ctx)
	return trusting(func() error { return s.Client.WaitWithJobs(resources, timeout) })
}

// WaitAndGetCompletedPodPhase waits until a Pod has ended.
func (s *sparing) WaitAndGetCompletedPodPhase(name string, timeout time.Duration) (corev1.PodPhase, error) {
	waits(s.ctx)
	return s.Client.WaitAndGetCompletedPodPhase(name, timeout)
}
