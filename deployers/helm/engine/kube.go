// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// parallelDeletions bounds the objects of one kind that are deleted at the same time.
const parallelDeletions = 16

// kubeClient is Helm's way to the objects of a cluster, for one operation on a release. Helm deletes by name what the last revision had and the
// next one has not, whoever owns it by then; kubeClient leaves alone what another release or a DeployItem has taken. Each deletion only concerns
// the object as it was when that was seen.
type kubeClient struct {
	*kube.Client
	ctx     context.Context
	request Request
	journal *journal
	// served tells which objects of recorded manifests the cluster does not serve in their version; nil is none. With maps they are read in the version that
	// it serves, if there is one; all others are passed over.
	served meta.RESTMapper
	maps   bool
	// wanted is the manifest of the revision that an operation makes: that is read as it is.
	wanted string
	// leaves is called when the objects of a release are deleted and some of them are still there; nil where that does not matter.
	leaves func()
	// left is called in the place of the first Build, for a release whose objects are gone; nil for others.
	left func()

	mu     sync.Mutex
	spared kube.ResourceList
	// isLeaving says that an object is still there after its deletion was requested.
	isLeaving bool
}

// IsTaken reports whether an object has the marks of another release or of a DeployItem, and not those of the release. Hooks have none.
func IsTaken(object metav1.Object, namespace, name string) bool {
	_, byItem := object.GetLabels()[v1alpha1.ManifestDeployItemLabel]
	release, isNamed := config.ReleaseOn(object)
	isNamed = isNamed && release.Name == name && release.Namespace == namespace
	return !Owns(object, namespace, name) && (byItem || IsOwned(object) && !isNamed)
}

// isServed reports whether a cluster serves a kind in its version. A cluster that does not say so counts as one that does: whoever uses the kind gets
// the error.
func isServed(mapper meta.RESTMapper, kind schema.GroupVersionKind) bool {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return !meta.IsNoMatchError(err)
}

// passUnserved lets an operation go on without the objects of recorded revisions of kinds that the cluster does not serve in their version. Helm itself
// gives up for ever where a definition, or a version of it, went before the release. With maps it goes on with the version that is served.
func (o *operation) passUnserved(maps bool) {
	o.kube.maps = maps
	o.kube.served, _ = o.RESTClientGetter.ToRESTMapper() // it is never an error
}

// ErrUnserved says that a chart has an object of a kind or version that the cluster has ceased to serve; errors.Is finds it in the errors of Install and
// Upgrade.
var ErrUnserved = errors.New("the cluster does not serve what the chart has")

// noMatches is how Helm, and what it builds on, say that a cluster does not serve a kind.
const noMatches = "no matches for kind"

// explainUnserved tells kinds that the cluster has ceased to serve from those whose definition may come. Revision is what an
// upgrade follows, 0 for an install.
func (o *operation) explainUnserved(err error, manifest string, name string, revision int) error {
	if err == nil || !strings.Contains(err.Error(), noMatches) {
		return err
	}
	mapper, _ := o.RESTClientGetter.ToRESTMapper()
	had := map[schema.GroupKind]bool{}
	if before, err := o.Releases.Get(name, revision); err == nil {
		for _, object := range flatOf(before.Manifest) {
			had[object.GroupVersionKind().GroupKind()] = true
		}
	}
	for _, object := range flatOf(manifest) {
		kind := object.GroupVersionKind()
		if isServed(mapper, kind) {
			continue
		}
		at := fmt.Sprintf("%s of apiVersion %s, such as %q", kind.Kind, object.GetAPIVersion(), object.GetName())
		if mapping, err := mapper.RESTMapping(kind.GroupKind()); err == nil {
			return fmt.Errorf("%w: %s; it serves %s: use a version of the chart that has that", ErrUnserved, at, mapping.GroupVersionKind.GroupVersion())
		}
		if had[kind.GroupKind()] || scheme.Scheme.IsGroupRegistered(kind.Group) {
			return fmt.Errorf("%w: %s; use a version of the chart without it, or install its definition", ErrUnserved, at)
		}
	}
	return err
}

// flatOf returns the objects of a manifest, as far as it can be read.
func flatOf(manifest string) []*unstructured.Unstructured {
	objects, _ := ParseManifest(manifest)
	return Flat(objects)
}

// Build reads the objects of a manifest. Helm wants those of hooks to be validated, whatever the request says; they are all read.
func (k *kubeClient) Build(manifest io.Reader, validate bool) (kube.ResourceList, error) {
	if k.left != nil {
		k.left()
		k.left = nil
		return nil, nil
	}
	content, err := io.ReadAll(manifest)
	if err != nil {
		return nil, err
	}
	built, err := k.Client.Build(bytes.NewReader(content), validate && k.request.checksFields())
	if err == nil || k.served == nil || validate || string(content) == k.wanted || !strings.Contains(err.Error(), noMatches) {
		return built, err
	}
	objects, err := ParseManifest(string(content))
	if err != nil {
		return nil, err
	}
	var served bytes.Buffer
	for _, object := range Flat(objects) {
		kind := object.GroupVersionKind()
		if !isServed(k.served, kind) {
			mapping, err := k.served.RESTMapping(kind.GroupKind())
			if err != nil || !k.maps {
				k.Log("Skipping objects of %s, which the cluster does not serve", kind)
				continue
			}
			object.SetGroupVersionKind(mapping.GroupVersionKind)
		}
		document, err := object.MarshalJSON()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&served, "---\n%s\n", document)
	}
	return k.Client.Build(&served, false)
}

// Update brings objects from one revision to the next.
func (k *kubeClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return k.update(original, target, force, k.Client.Update)
}

// UpdateThreeWayMerge is Update that merges objects of every kind with what is on the cluster.
func (k *kubeClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return k.update(original, target, force, k.Client.UpdateThreeWayMerge)
}

// update merges the objects of the next revision with what they are compared with, and deletes what that does not have. As with Helm, what cannot be deleted is
// logged and stays.
func (k *kubeClient) update(
	original, target kube.ResourceList, force bool, merge func(original, target kube.ResourceList, force bool) (*kube.Result, error),
) (*kube.Result, error) {
	result := &kube.Result{} // Helm looks into it whatever the error is
	return result, trusting(func() error {
		base, err := k.base(original, target)
		if err != nil {
			return err
		}
		merged, err := merge(base, target, force)
		if merged != nil {
			*result = *merged
		}
		if err != nil {
			return err
		}
		for _, info := range original.Difference(target) {
			if err := k.remove(info, metav1.DeletePropagationBackground, true); err != nil {
				k.Log("Failed to delete %q, err: %s", info.ObjectName(), err)
				continue
			}
			result.Deleted = append(result.Deleted, info)
		}
		return nil
	})
}

// base returns what Helm compares the objects of the next revision with: those of the last one. A rollback may find objects of the release that the
// last revision was to drop and did not, because it failed before; Helm itself gives up there, so they are compared with themselves.
func (k *kubeClient) base(original, target kube.ResourceList) (kube.ResourceList, error) {
	base := original.Intersect(target)
	for _, info := range target.Difference(original) {
		live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if object, err := meta.Accessor(live); err == nil && Owns(object, k.request.Namespace, k.request.Name) {
			base.Append(info)
		}
	}
	return base, nil
}

// Delete deletes objects, such as those of hooks.
func (k *kubeClient) Delete(objects kube.ResourceList) (*kube.Result, []error) {
	return k.deleteAll(objects, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy deletes the objects of a release in an uninstall.
func (k *kubeClient) DeleteWithPropagationPolicy(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	k.isLeaving = false
	result, problems := k.deleteAll(objects, policy)
	if k.isLeaving && k.leaves != nil {
		k.leaves()
	}
	return result, problems
}

// deleteAll deletes objects, kind by kind in the order given. All are tried, whatever becomes of one.
func (k *kubeClient) deleteAll(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	problems := make([]error, len(objects))
	for begin := 0; begin < len(objects); {
		kind := objects[begin].Mapping.GroupVersionKind.Kind
		var running errgroup.Group
		running.SetLimit(parallelDeletions)
		for ; begin < len(objects) && objects[begin].Mapping.GroupVersionKind.Kind == kind; begin++ {
			at := begin
			running.Go(func() error {
				problems[at] = k.remove(objects[at], policy, false)
				return nil
			})
		}
		_ = running.Wait()
	}
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	if len(problems) > 0 {
		return nil, problems
	}
	return &kube.Result{Deleted: objects}, nil
}

// remove requests the deletion of an object unless others have taken it. Where the live object may say so, it is kept.
func (k *kubeClient) remove(info *resource.Info, policy metav1.DeletionPropagation, mayBeKept bool) error {
	helper := resource.NewHelper(info.Client, info.Mapping).WithFieldManager(kube.ManagedFieldsManager)
	return client.IgnoreNotFound(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		live, err := helper.Get(info.Namespace, info.Name)
		if err != nil {
			return err
		}
		object, err := meta.Accessor(live)
		if err != nil {
			return err
		}
		namespace, name := k.request.Namespace, k.request.Name
		isOthers := IsTaken(object, namespace, name) || k.request.OnlyMarked && !Owns(object, namespace, name)
		if mayBeKept && IsKept(object.GetAnnotations()) || isOthers {
			k.Log("Skipping delete of %s %q, which is kept or has another owner", info.Mapping.GroupVersionKind.Kind, info.Name)
			k.mu.Lock()
			defer k.mu.Unlock()
			k.spared.Append(info)
			return nil
		}
		uid, version := object.GetUID(), object.GetResourceVersion()
		answer, err := helper.DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{
			PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
		if err != nil {
			return err
		}
		// The answer is the object where that is still there.
		if object, err := meta.Accessor(answer); err == nil && object.GetDeletionTimestamp() != nil {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.isLeaving = true
		}
		return nil
	}))
}

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

// Wait waits until objects are ready.
func (k *kubeClient) Wait(resources kube.ResourceList, timeout time.Duration) error {
	waits(k.ctx)
	return trusting(func() error { return k.Client.Wait(resources, timeout) })
}

// WaitWithJobs waits until objects are ready and Jobs are complete.
func (k *kubeClient) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	waits(k.ctx)
	return trusting(func() error { return k.Client.WaitWithJobs(resources, timeout) })
}

// WaitForDelete waits until deleted objects are gone; those that were left alone are not waited for.
func (k *kubeClient) WaitForDelete(objects kube.ResourceList, timeout time.Duration) error {
	waits(k.ctx)
	k.mu.Lock()
	waited := objects.Difference(k.spared)
	k.mu.Unlock()
	return k.Client.WaitForDelete(waited, timeout)
}

// WatchUntilReady waits until a hook has ended. Of one that fails it keeps the log before Helm deletes the Pod.
func (k *kubeClient) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	waits(k.ctx)
	ctx, cancel := context.WithTimeout(k.ctx, timeout)
	defer cancel()
	for _, hook := range resources {
		if err := awaitHook(ctx, hook); err != nil {
			if lines := k.lastLines(hook); lines != "" { // the failure itself counts more
				k.journal.keepPod(hook.Name, lines)
			}
			return err
		}
	}
	return nil
}

// awaitHook waits until a Job or Pod has ended; other objects have at once. Helm itself would go on when the operation has ended.
func awaitHook(ctx context.Context, hook *resource.Info) error {
	kind := hook.Mapping.GroupVersionKind.Kind
	if kind != jobKind && kind != podKind {
		return nil
	}
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, hook.Name)
	source := cache.NewListWatchFromClient(hook.Client, hook.Mapping.Resource.Resource, hook.Namespace, selector)
	_, err := watchtools.UntilWithSync(ctx, source, &unstructured.Unstructured{}, nil, func(event watch.Event) (bool, error) {
		object, isObject := event.Object.(*unstructured.Unstructured)
		switch {
		case event.Type == watch.Deleted:
			return true, nil
		case !isObject:
			return true, fmt.Errorf("failed to deploy %s", hook.Name)
		}
		return hookEnded(kind, object)
	})
	return err
}

const jobKind, podKind = "Job", "Pod"

// hookEnded reports whether a Job or Pod has ended; a bad end is an error.
func hookEnded(kind string, object *unstructured.Unstructured) (bool, error) {
	if kind == podKind {
		phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
		if phase == string(corev1.PodFailed) {
			return true, fmt.Errorf("pod %s failed", object.GetName())
		}
		return phase == string(corev1.PodSucceeded), nil
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition, _ := one.(map[string]any)
		switch {
		case condition["status"] != string(corev1.ConditionTrue):
		case condition["type"] == string(batchv1.JobComplete):
			return true, nil
		case condition["type"] == string(batchv1.JobFailed):
			return true, fmt.Errorf("job %s failed: %v", object.GetName(), condition["reason"])
		}
	}
	return false, nil
}
