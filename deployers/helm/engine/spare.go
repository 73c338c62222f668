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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/lists"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
)

const (
	// maxLostRaces is how often a deletion is tried again because somebody changed the object meanwhile.
	maxLostRaces = 5
	// parallelDeletions bounds the objects of one kind that are deleted at the same time.
	parallelDeletions = 16
)

// errChanging says that an object could not be deleted because it changed at each try.
var errChanging = errors.New("the object changes all the time")

// sparing is Helm's way to the objects of a cluster, for one operation on a release. Helm deletes by name what the last revision had and the
// next one has not, whoever owns it by then; sparing leaves alone what another release or a DeployItem has taken. Each deletion only concerns
// the object as it was when that was seen.
type sparing struct {
	*kube.Client
	ctx             context.Context
	namespace, name string
	// onlyMarked leaves alone whatever lacks the marks of the release.
	onlyMarked bool
	pods       *podLog
	// checksFields has the fields of hooks checked against the OpenAPI document of a cluster that does not check them by itself.
	checksFields bool
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

// spareOthers makes an operation leave alone what does not belong to its release any more.
func (o *operation) spareOthers(ctx context.Context, request Request) {
	if client, ok := o.KubeClient.(*kube.Client); ok {
		o.KubeClient = &sparing{
			Client: client, ctx: ctx, namespace: request.Namespace, name: request.Name, onlyMarked: request.OnlyMarked, pods: o.pods,
			checksFields: request.CheckFields,
		}
	}
}

// isSpared reports whether an object is left alone.
func (s *sparing) isSpared(object metav1.Object) bool {
	return IsTaken(object, s.namespace, s.name) || s.onlyMarked && !Owns(object, s.namespace, s.name)
}

// IsTaken reports whether an object has the marks of another release or of a DeployItem, and not those of the release. Hooks have none.
func IsTaken(object metav1.Object, namespace, name string) bool {
	_, byItem := object.GetLabels()[v1alpha1.ManifestDeployItemLabel]
	return !Owns(object, namespace, name) && (byItem || IsOwned(object) && !isNamed(object, namespace, name))
}

// isNamed reports whether the annotations of an object name a release.
func isNamed(object metav1.Object, namespace, name string) bool {
	release, found := config.ReleaseOn(object)
	return found && release.Name == name && release.Namespace == namespace
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
	if client, ok := o.KubeClient.(*sparing); ok {
		client.maps = maps
		client.served, _ = o.RESTClientGetter.ToRESTMapper() // without one nothing is passed over
	}
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
	mapper, problem := o.RESTClientGetter.ToRESTMapper()
	if problem != nil {
		return err
	}
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
	objects, _ := rendering.ParseManifest(manifest)
	return rendering.Flat(objects)
}

// Build reads the objects of a manifest. Helm wants those of hooks to be validated, whatever the request says; they are all read.
func (s *sparing) Build(manifest io.Reader, validate bool) (objects kube.ResourceList, err error) {
	if s.left != nil {
		s.left()
		s.left = nil
		return nil, nil
	}
	err = trusting(func() (err error) {
		objects, err = s.build(manifest, validate)
		return err
	})
	if err != nil {
		return objects, err
	}
	if err := lists.Few(objects); err != nil {
		return nil, err
	}
	return objects, nil
}

func (s *sparing) build(manifest io.Reader, validate bool) (kube.ResourceList, error) {
	content, err := io.ReadAll(manifest)
	if err != nil {
		return nil, err
	}
	built, err := s.Client.Build(bytes.NewReader(content), validate && s.checksFields)
	if err == nil || s.served == nil || validate || string(content) == s.wanted || !strings.Contains(err.Error(), noMatches) {
		return built, err
	}
	objects, err := rendering.ParseManifest(string(content))
	if err != nil {
		return nil, err
	}
	var served bytes.Buffer
	for _, object := range rendering.Flat(objects) {
		kind := object.GroupVersionKind()
		if !isServed(s.served, kind) {
			mapping, err := s.served.RESTMapping(kind.GroupKind())
			if err != nil || !s.maps {
				s.Log("Skipping objects of %s, which the cluster does not serve", kind)
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
	return s.Client.Build(&served, false)
}

// Create creates objects.
func (s *sparing) Create(objects kube.ResourceList) (result *kube.Result, err error) {
	if err := (judge{quantities: true, elements: maxMergedBefore}).all(objects); err != nil {
		return nil, err
	}
	err = trusting(func() (err error) {
		result, err = s.Client.Create(objects)
		return err
	})
	return result, err
}

// Update brings objects from one revision to the next.
func (s *sparing) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return s.update(original, target, func(base kube.ResourceList) (*kube.Result, error) { return s.Client.Update(base, target, force) })
}

// UpdateThreeWayMerge is Update that merges objects of every kind with what is on the cluster.
func (s *sparing) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	return s.update(original, target, func(base kube.ResourceList) (*kube.Result, error) {
		return s.Client.UpdateThreeWayMerge(base, target, force)
	})
}

// update merges the objects of the next revision with what they are compared with, and deletes what that does not have.
func (s *sparing) update(original, target kube.ResourceList, merge func(base kube.ResourceList) (*kube.Result, error)) (*kube.Result, error) {
	result := &kube.Result{} // Helm looks into it whatever the error is
	err := trusting(func() error {
		base, err := s.base(original, target)
		if err != nil {
			return err
		}
		if err := (judge{elements: maxMergedBefore}).all(base); err != nil {
			return err
		}
		if err := (judge{quantities: true, elements: maxMerged}).all(target); err != nil {
			return err
		}
		merged, err := merge(base)
		result, err = s.afterUpdate(original, target, merged, err)
		return err
	})
	return result, err
}

// base returns what Helm compares the objects of the next revision with: those of the last one. A rollback may find objects of the release that the
// last revision was to drop and did not, because it failed before; Helm itself gives up there, so they are compared with themselves.
func (s *sparing) base(original, target kube.ResourceList) (kube.ResourceList, error) {
	base := lists.Common(original, target)
	for _, info := range lists.Without(target, original) {
		live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if object, err := meta.Accessor(live); err == nil && Owns(object, s.namespace, s.name) {
			base.Append(info)
		}
	}
	return base, nil
}

// afterUpdate deletes what the next revision does not have. As with Helm, what cannot be deleted is logged and stays.
func (s *sparing) afterUpdate(original, target kube.ResourceList, result *kube.Result, err error) (*kube.Result, error) {
	if err != nil {
		return result, err
	}
	for _, info := range lists.Without(original, target) {
		err := s.remove(info, metav1.DeletePropagationBackground, true)
		if err != nil {
			s.Log("Failed to delete %q, err: %s", info.ObjectName(), err)
			continue
		}
		result.Deleted = append(result.Deleted, info)
	}
	return result, nil
}

// Delete deletes objects, such as those of hooks.
func (s *sparing) Delete(objects kube.ResourceList) (*kube.Result, []error) {
	return s.deleteAll(objects, metav1.DeletePropagationBackground)
}

// DeleteWithPropagationPolicy deletes the objects of a release in an uninstall.
func (s *sparing) DeleteWithPropagationPolicy(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	s.isLeaving = false
	result, problems := s.deleteAll(objects, policy)
	if s.isLeaving && s.leaves != nil {
		s.leaves()
	}
	return result, problems
}

// deleteAll deletes objects, kind by kind in the order given. All are tried, whatever becomes of one.
func (s *sparing) deleteAll(objects kube.ResourceList, policy metav1.DeletionPropagation) (*kube.Result, []error) {
	var problems []error
	for rest := objects; len(rest) > 0; {
		kind := rest[0].Mapping.GroupVersionKind.Kind
		next := slices.IndexFunc(rest, func(i *resource.Info) bool { return i.Mapping.GroupVersionKind.Kind != kind })
		if next < 0 {
			next = len(rest)
		}
		problems = append(problems, s.removeAll(rest[:next], policy)...)
		rest = rest[next:]
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return &kube.Result{Deleted: objects}, nil
}

func (s *sparing) removeAll(objects kube.ResourceList, policy metav1.DeletionPropagation) []error {
	var running errgroup.Group
	running.SetLimit(parallelDeletions)
	var lock sync.Mutex
	var problems []error
	for _, info := range objects {
		running.Go(func() error {
			if err := trusting(func() error { return s.remove(info, policy, false) }); err != nil {
				lock.Lock()
				defer lock.Unlock()
				problems = append(problems, err)
			}
			return nil
		})
	}
	_ = running.Wait()
	return problems
}

// WaitForDelete waits until deleted objects are gone; those that were left alone are not waited for.
func (s *sparing) WaitForDelete(objects kube.ResourceList, timeout time.Duration) error {
	s.mu.Lock()
	waited := lists.Without(objects, s.spared)
	s.mu.Unlock()
	waits(s.ctx)
	return trusting(func() error { return s.Client.WaitForDelete(waited, timeout) })
}

// remove requests the deletion of an object unless others have taken it. Where the live object may say so, it is kept.
func (s *sparing) remove(info *resource.Info, policy metav1.DeletionPropagation, mayBeKept bool) error {
	helper := resource.NewHelper(info.Client, info.Mapping).WithFieldManager(kube.ManagedFieldsManager)
	for range maxLostRaces {
		live, err := helper.Get(info.Namespace, info.Name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		object, err := meta.Accessor(live)
		if err != nil {
			return err
		}
		if mayBeKept && IsKept(object.GetAnnotations()) || s.isSpared(object) {
			s.spare(info)
			return nil
		}
		uid, version := object.GetUID(), object.GetResourceVersion()
		answer, err := helper.DeleteWithOptions(info.Namespace, info.Name, &metav1.DeleteOptions{
			PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
		if err == nil {
			s.noteLeaving(answer)
		}
		if !apierrors.IsConflict(err) {
			return ignoreNotFound(err)
		}
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
	}
	return errChanging
}

// noteLeaving looks into the answer to a deletion. It is the object where that is still there.
func (s *sparing) noteLeaving(answer runtime.Object) {
	object, err := meta.Accessor(answer)
	if err != nil || object.GetDeletionTimestamp() == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isLeaving = true
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func (s *sparing) spare(info *resource.Info) {
	s.Log("Skipping delete of %s %q, which is kept or has another owner", info.Mapping.GroupVersionKind.Kind, info.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spared.Append(info)
}
