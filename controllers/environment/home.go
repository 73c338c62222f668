// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const (
	reasonNamespaceMissing    = "NamespaceMissing"
	reasonNamespaceForeign    = "NamespaceForeign"
	reasonNamespaceNotAllowed = "NamespaceNotAllowed"
	reasonNamespaceRefuses    = "NamespaceRefuses"
	reasonNamespaceReturns    = "NamespaceReturns"
)

// findHome decides which namespace is for what is made. Once it is known it stays: deployers do not move. A namespace of an Environment is made by
// an operator, who says by that who may have an Environment, and what its deployers may reach.
func (r *Reconciler) findHome(ctx context.Context, s *scope) error {
	own := r.Homes.Own(s.env.Name)
	known := s.env.Status.Namespace
	if known != own && known != r.Homes.Shared {
		known = homeOfInstallations(s)
	}
	if known == r.Homes.Shared {
		s.settleAt(known, s.env.Spec.Namespaces)
		return nil
	}
	namespace, err := r.namespace(ctx, own)
	switch {
	case err != nil:
		return err
	case namespace == nil && known == "" && r.Share:
		s.settleAt(r.Homes.Shared, s.env.Spec.Namespaces)
		return nil
	case namespace == nil:
		s.homeless = missing(s.env.Name, own)
	case namespace.Labels[v1alpha1.DeployerEnvironmentLabel] != s.env.Name:
		s.homeless = protocol.Stall(operation, reasonNamespaceForeign, "namespace %s is not for this Environment; give it the label %s: %s, or rename the Environment",
			own, v1alpha1.DeployerEnvironmentLabel, s.env.Name)
	default:
		known = own
		s.limit(namespace)
	}
	s.home = known
	s.env.Status.Namespace = known
	return nil
}

func (s *scope) settleAt(home string, namespaces []string) {
	s.home, s.env.Status.Namespace, s.namespaces = home, home, namespaces
}

// homeOfInstallations is where the Installations of an Environment are whose status says nothing; empty where there are none.
func homeOfInstallations(s *scope) string {
	if len(s.installations) == 0 {
		return ""
	}
	return s.installations[0].Namespace
}

// namespace returns a namespace, nil where it does not exist or is being deleted.
func (r *Reconciler) namespace(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	found, err := pair.ReadNamespace(ctx, r, name)
	if apierrors.IsNotFound(err) || err == nil && !found.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return found, err
}

func missing(name, own string) error {
	if problems := validation.IsDNS1123Label(own); len(problems) > 0 {
		return protocol.Stall(operation, reasonNamespaceForeign, "no namespace %q can be made for this Environment: %s; rename it", own, strings.Join(problems, ", "))
	}
	return protocol.Wait(operation, reasonNamespaceMissing,
		"namespace %s does not exist or is being deleted; apply flux/agent-access for Environment %s, or start the controller with --shared-environments", own, name)
}

// checkHome fails while there is no namespace.
func checkHome(_ context.Context, s *scope) error { return s.homeless }

// limit lets the deployers work where the Environment wants it and the namespace of the Environment allows it.
func (s *scope) limit(namespace *metav1.PartialObjectMetadata) {
	s.namespaces = s.env.Spec.Namespaces
	allowed := pair.Allowed(namespace)
	if allowed == nil {
		return
	}
	if s.namespaces == nil {
		s.namespaces = allowed
		return
	}
	refused := func(name string) bool { return name != namespace.Name && !slices.Contains(allowed, name) }
	if at := slices.IndexFunc(s.namespaces, refused); at >= 0 {
		s.problems = append(s.problems, protocol.Stall(operation, reasonNamespaceNotAllowed,
			"the deployers may not work in namespace %s of spec.namespaces; take it off the list, or add it to the annotation %s of namespace %s",
			s.namespaces[at], v1alpha1.AllowedNamespacesAnnotation, namespace.Name))
	}
	s.namespaces = slices.DeleteFunc(slices.Clone(s.namespaces), refused)
}

// findNamespaces leaves out the namespaces that do not exist: a deployer that watches one of them is never ready, since nothing can be bound there. An
// Environment that is left without any has its own, because a deployer that is told none watches all.
func (r *Reconciler) findNamespaces(ctx context.Context, s *scope) error {
	if s.namespaces == nil {
		return nil
	}
	present, missing := []string{}, []string{}
	for _, name := range s.namespaces {
		found, err := r.namespace(ctx, name)
		switch {
		case err != nil:
			return err
		case found == nil:
			missing = append(missing, name)
		default:
			present = append(present, name)
		}
	}
	if len(missing) > 0 {
		s.problems = append(s.problems, protocol.Wait(operation, reasonNamespaceMissing,
			"namespace %s does not exist or is being deleted, and so %d in all; create it, or take it off spec.namespaces or what is allowed", missing[0], len(missing)))
	}
	if own := r.Homes.Own(s.env.Name); len(present) == 0 && s.home == own {
		present = append(present, own)
	}
	s.namespaces = present
	return nil
}

// keepHostTarget brings the Target of the host cluster to what the Environment says. A reference in it to a Secret of the host cluster stays one:
// nothing here follows it.
func (r *Reconciler) keepHostTarget(ctx context.Context, s *scope) error {
	wanted := hostTarget(s.env, s.home)
	return r.keepTarget(ctx, wanted, func(present *v1alpha1.Target) error {
		if metav1.IsControlledBy(present, s.env) {
			return nil
		}
		return protocol.Stall(operation, "TargetExists", "Target %s/%s exists and does not belong to this Environment; delete or rename it, or rename the Environment",
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
		return protocol.Wait(operation, protocol.ReasonDeleting, "Target %s/%s is being deleted; it is made again when it is gone", present.Namespace, present.Name)
	}
	before := present.DeepCopy()
	for key, value := range wanted.Labels {
		metav1.SetMetaDataLabel(&present.ObjectMeta, key, value)
	}
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&present.ObjectMeta, key, value)
	}
	same, err := storage.SameJSON(before.Spec, wanted.Spec)
	if err != nil || same && equality.Semantic.DeepEqual(before.ObjectMeta, present.ObjectMeta) {
		return err
	}
	present.Spec = wanted.Spec
	return r.Update(ctx, present)
}
