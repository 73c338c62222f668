// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// Client returns an uncached client of the administrator. It knows the built-in kinds, CRDs, Flux's kinds, what
// Options.AddToScheme names, and unstructured objects of every kind.
func (c *Cluster) Client() client.WithWatch { return c.client }

// May reports whether the API server of a client lets a user do something. It knows of a binding a moment after it has stored it.
func May(ctx context.Context, c client.Client, user string, what authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &what}}
	err := c.Create(ctx, review)
	return review.Status.Allowed, err
}

func (c *Cluster) makeClient() (err error) {
	scheme := runtime.NewScheme()
	known := []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, sourcev1.AddToScheme, kustomizev1.AddToScheme,
	}
	for _, add := range append(known, c.options.AddToScheme...) {
		if err := add(scheme); err != nil {
			return err
		}
	}
	c.client, err = client.NewWithWatch(c.RestConfig, client.Options{Scheme: scheme})
	return err
}

// patience ends waits whose context has no deadline: a test that fails says more than one that hangs.
const patience = 5 * time.Minute

// Await watches the object, which need not exist yet, until done says so about its newest state, which object then
// holds. The error names the object and the state it was last seen in when ctx ends, or after five minutes if ctx has no deadline.
func (c *Cluster) Await(ctx context.Context, object client.Object, done func() bool) error {
	return c.observe(ctx, object, nil, func(event watch.Event) (bool, error) {
		seen, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Deleted {
			return false, nil
		}
		if err := copyInto(object, seen); err != nil {
			return false, err
		}
		return done(), nil
	})
}

// AwaitReady watches the object until condition Ready is True for its newest generation, as Flux's health checks see it:
// controllers may write conditions and the rest of status one after the other.
func (c *Cluster) AwaitReady(ctx context.Context, object client.Object) error {
	return c.Await(ctx, object, func() bool {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		return err == nil && isReady(&unstructured.Unstructured{Object: content})
	})
}

func isReady(object *unstructured.Unstructured) bool {
	result, err := status.Compute(object)
	if err != nil || result.Status != status.CurrentStatus {
		return false
	}
	conditions, err := status.GetObjectWithConditions(object.Object)
	return err == nil && slices.ContainsFunc(conditions.Status.Conditions, func(condition status.BasicCondition) bool {
		return condition.Type == "Ready" && condition.Status == corev1.ConditionTrue
	})
}

// AwaitGone watches the object until it does not exist.
func (c *Cluster) AwaitGone(ctx context.Context, object client.Object) error {
	gone := func(store cache.Store) (bool, error) { return len(store.List()) == 0, nil }
	return c.observe(ctx, object, gone, func(event watch.Event) (bool, error) { return event.Type == watch.Deleted, nil })
}

// observe watches one object until enough says so about what exists at first, or condition about an event.
func (c *Cluster) observe(ctx context.Context, object client.Object, enough watchtools.PreconditionFunc,
	condition watchtools.ConditionFunc) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	kind, err := apiutil.GVKForObject(object, c.client.Scheme())
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(object)
	var last any = "never seen"
	_, err = watchtools.UntilWithSync(ctx, c.listWatch(kind, key), &unstructured.Unstructured{}, enough,
		func(event watch.Event) (bool, error) {
			if seen, ok := event.Object.(*unstructured.Unstructured); ok {
				last = seen.Object["status"]
			}
			return condition(event)
		})
	if err != nil {
		return fmt.Errorf("waiting for %s %s: %w (last status: %v)", kind.Kind, key, err, last)
	}
	return nil
}

// listWatch lists and watches the one object.
func (c *Cluster) listWatch(kind schema.GroupVersionKind, key client.ObjectKey) *cache.ListWatch {
	newList := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return list
	}
	options := func(raw metav1.ListOptions) []client.ListOption {
		return []client.ListOption{
			&client.ListOptions{Raw: &raw}, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name},
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			list := newList()
			return list, c.client.List(ctx, list, options(raw)...)
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return c.client.Watch(ctx, newList(), options(raw)...)
		},
	}
}

// copyInto makes object, typed or not, equal to seen.
func copyInto(object client.Object, seen *unstructured.Unstructured) error {
	if target, ok := object.(*unstructured.Unstructured); ok {
		seen.DeepCopyInto(target)
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(seen.Object, object)
}

const (
	fieldOwner   = "platform"
	crdTimeout   = time.Minute
	yamlReadSize = 4096
)

// installContent installs the CRDs and then the objects that the options name.
func (c *Cluster) installContent(ctx context.Context) error {
	dirs := c.options.CRDDirs
	if c.options.LandscaperCRDs {
		root, err := binaries.RepositoryRoot()
		if err != nil {
			return err
		}
		dirs = append([]string{filepath.Join(root, "config", "crd", "bases")}, dirs...)
	}
	if err := c.InstallCRDs(ctx, dirs...); err != nil {
		return err
	}
	return c.Apply(ctx, c.options.Objects...)
}

// InstallCRDs installs the CRD manifests of folders or files and returns when the API server serves the new kinds.
func (c *Cluster) InstallCRDs(_ context.Context, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := envtest.InstallCRDs(c.RestConfig, envtest.CRDInstallOptions{
		Paths:              paths,
		ErrorIfPathMissing: true,
		MaxTime:            crdTimeout,
		PollInterval:       readyInterval,
	})
	if err != nil {
		return fmt.Errorf("cannot install the CRDs of %s: %w", strings.Join(paths, ", "), err)
	}
	return nil
}

// Apply applies objects server-side, in order. Typed objects of built-in kinds need no apiVersion and kind.
func (c *Cluster) Apply(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		applied, err := c.toUnstructured(object)
		if err != nil {
			return err
		}
		configuration := client.ApplyConfigurationFromUnstructured(applied)
		if err := c.client.Apply(ctx, configuration, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("cannot apply %s %s: %w", applied.GetKind(), client.ObjectKeyFromObject(applied), err)
		}
	}
	return nil
}

func (c *Cluster) toUnstructured(object client.Object) (*unstructured.Unstructured, error) {
	kind, err := apiutil.GVKForObject(object, c.client.Scheme())
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	converted := &unstructured.Unstructured{Object: content}
	converted.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(converted.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(converted.Object, "status")
	return converted, nil
}

// ApplyYAML applies the documents of a YAML stream server-side, in order.
func (c *Cluster) ApplyYAML(ctx context.Context, manifests string) error {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), yamlReadSize)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the manifests: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := c.Apply(ctx, object); err != nil {
			return err
		}
	}
}
