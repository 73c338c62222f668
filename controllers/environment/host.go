// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// keepHostTarget brings the Target of the host cluster to what the Environment says. A reference in it to a Secret of the host cluster stays one:
// nothing here follows it.
func (r *Reconciler) keepHostTarget(ctx context.Context, s *scope) error {
	wanted := hostTarget(s.env, s.home)
	return r.keepTarget(ctx, wanted, func(present *v1alpha1.Target) error {
		if metav1.IsControlledBy(present, s.env) {
			return nil
		}
		return kit.Stall(operation, "TargetExists", "Target %s/%s exists and does not belong to this Environment; delete or rename it, or rename the Environment",
			present.Namespace, present.Name)
	})
}

// hostTarget describes the Target of the host cluster. It always says which Environment it belongs to, whatever the template says: by that others
// leave it alone.
func hostTarget(env *v1alpha1.Environment, namespace string) *v1alpha1.Target {
	template := env.Spec.HostTarget
	annotations := maps.Clone(template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.EnvironmentAnnotation] = env.Name
	return &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: env.Name, Labels: template.Labels, Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(env, v1alpha1.GroupVersion.WithKind("Environment"))},
		},
		Spec: *template.TargetSpec.DeepCopy(),
	}
}

// keepTarget creates a Target, or brings the present one to what is wanted. Labels and annotations of others stay. Check fails for one that
// belongs to somebody else.
func (r *Reconciler) keepTarget(ctx context.Context, wanted *v1alpha1.Target, check func(*v1alpha1.Target) error) error {
	present := &v1alpha1.Target{}
	err := r.Get(ctx, client.ObjectKeyFromObject(wanted), present)
	if apierrors.IsNotFound(err) {
		err = r.Create(ctx, wanted)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		err = r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), present)
	}
	if err != nil {
		return err
	}
	if err := check(present); err != nil {
		return err
	}
	if !present.DeletionTimestamp.IsZero() {
		return kit.Wait(operation, kit.ReasonDeleting, "Target %s/%s is being deleted; it is made again when it is gone", present.Namespace, present.Name)
	}
	before := present.DeepCopy()
	for key, value := range wanted.Labels {
		metav1.SetMetaDataLabel(&present.ObjectMeta, key, value)
	}
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&present.ObjectMeta, key, value)
	}
	same, err := kit.SameJSON(before.Spec, wanted.Spec)
	if err != nil || same && equality.Semantic.DeepEqual(before.ObjectMeta, present.ObjectMeta) {
		return err
	}
	present.Spec = wanted.Spec
	return r.Update(ctx, present)
}
