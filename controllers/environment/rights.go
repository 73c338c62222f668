// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// roleOfAll is the ClusterRole of every deployer on the landscaper cluster; roleOf has those that some need beside it, by type.
const roleOfAll = "landscaper:deployer"

var roleOf = map[string]string{
	v1alpha1.HelmDeployItemType: "landscaper:deployer-helm", v1alpha1.ContainerDeployItemType: "landscaper:deployer-container",
}

// roles returns the ClusterRoles of a deployer by the suffix of their bindings.
func roles(registration *v1alpha1.DeployerRegistration) map[string]string {
	wanted := map[string]string{"": roleOfAll}
	for _, itemType := range pair.Serves(registration) {
		if role := roleOf[itemType]; role != "" {
			wanted[role[len(roleOfAll):]] = role
		}
	}
	return wanted
}

// bindings returns the bindings of a deployer whose ServiceAccount is in home: for the whole cluster where namespaces is nil, else for these alone.
func bindings(key pair.Key, registration *v1alpha1.DeployerRegistration, home string, namespaces []string) []client.Object {
	subjects := subjectsOf(key, home)
	var all []client.Object
	for suffix, role := range roles(registration) {
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
		meta := metav1.ObjectMeta{Name: key.Name() + suffix, Labels: key.Labels()}
		if namespaces == nil {
			all = append(all, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
			continue
		}
		for _, namespace := range namespaces {
			in := *meta.DeepCopy()
			in.Namespace = namespace
			all = append(all, &rbacv1.RoleBinding{ObjectMeta: in, RoleRef: ref, Subjects: subjects})
		}
	}
	slices.SortFunc(all, func(a, b client.Object) int { return strings.Compare(place(a), place(b)) })
	return all
}

// subjectsOf is the ServiceAccount of a deployer in home.
func subjectsOf(key pair.Key, home string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: key.Name()}}
}

// rights keeps the bindings of deployers.
type rights struct {
	client.Client
	live client.Reader
}

// keepRights makes the bindings of a deployer, and deletes those that it no longer is to have. What it loses it loses before it gets anything. A
// namespace in which it cannot be bound is left out: nobody who owns one keeps a deployer from the others.
func (r rights) keepRights(ctx context.Context, w *work) error {
	present, err := r.present(ctx, w.key)
	if err != nil {
		return err
	}
	wanted := bindings(w.key, w.registration, w.installation.Namespace, w.namespaces)
	has, wants := byPlace(present), byPlace(wanted)
	for _, binding := range present {
		if one := wants.find(binding); one != nil && sameRole(one, binding) {
			continue
		}
		if err := protocol.DeleteLive(ctx, r.live, r.Client, binding, nil); err != nil {
			return err
		}
	}
	for _, binding := range wanted {
		if err := r.keepOne(ctx, w, has.find(binding), binding); err != nil && !w.leaveOut(binding.GetNamespace(), err) {
			return err
		}
	}
	return w.tellRefusals()
}

// keepOne makes one binding what it has to be; present is nil where there is none.
func (r rights) keepOne(ctx context.Context, w *work, present, wanted client.Object) error {
	if present == nil || !sameRole(present, wanted) {
		return r.bind(ctx, w, wanted)
	}
	return r.keepSubjects(ctx, present, wanted)
}

// refusal is why a deployer cannot be bound in a namespace.
type refusal struct {
	namespace string
	err       error
}

// leaveOut notes why a deployer cannot be bound in a namespace, and reports whether it can do without.
func (w *work) leaveOut(namespace string, err error) bool {
	if protocol.IsTransient(err) || !slices.Contains(w.namespaces, namespace) {
		return false
	}
	w.refusals = append(w.refusals, refusal{namespace, err})
	return true
}

// tellRefusals fails where no namespace is left for a deployer: one that is told none watches all.
func (w *work) tellRefusals() error {
	if len(w.refusals) > 0 && len(w.served()) == 0 {
		return w.refusals[0].err
	}
	for _, refused := range w.refusals {
		w.problems = append(w.problems, refused.err)
	}
	return nil
}

// served are the namespaces in which a deployer works; nil is all. One that watches a namespace without rights is never ready.
func (w *work) served() []string {
	if w.namespaces == nil {
		return nil
	}
	refusing := sets.New[string]()
	for _, refused := range w.refusals {
		refusing.Insert(refused.namespace)
	}
	return slices.DeleteFunc(slices.Clone(w.namespaces), refusing.Has)
}

// bind creates a binding. A namespace that has gone in between says so by an event, which begins the next reconciliation.
func (r rights) bind(ctx context.Context, w *work, binding client.Object) error {
	err := r.Create(ctx, binding)
	switch {
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return protocol.Wait(operation, reasonNamespaceMissing, "namespace %s is being deleted; create it, or take it off spec.namespaces or what is allowed",
			binding.GetNamespace())
	case apierrors.IsForbidden(err) && binding.GetNamespace() != "":
		return protocol.Again(operation, reasonNamespaceRefuses,
			"namespace %s refuses RoleBinding %s, without which the deployer does not work there; allow it, or take the namespace off spec.namespaces or what is allowed: %w",
			binding.GetNamespace(), binding.GetName(), err)
	case !apierrors.IsAlreadyExists(err):
		return err
	}
	existing := binding.DeepCopyObject().(client.Object)
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(binding), existing); err != nil {
		return err
	}
	if err := w.key.CheckMade(operation, kindOf(binding), existing); err != nil {
		return err
	}
	if !sameRole(existing, binding) || isGoing(existing) && !sameSubjects(existing, binding) {
		return useless(existing)
	}
	return nil // the cache is about to show it
}

// useless returns the error for a binding that has the name of that of a deployer and gives it no rights. The owner of a namespace can create one with the
// same labels, and keep it with finalizers.
func useless(existing client.Object) error {
	if existing.GetNamespace() == "" {
		return protocol.Wait(operation, protocol.ReasonDeleting, "ClusterRoleBinding %s gives the deployer no rights and is not gone yet; it is made again then",
			existing.GetName())
	}
	return protocol.Again(operation, reasonNamespaceRefuses,
		"namespace %s keeps a RoleBinding %s that gives the deployer no rights, so that it does not work there; delete it and take its finalizers off, or take the namespace off spec.namespaces or what is allowed",
		existing.GetNamespace(), existing.GetName())
}

// keepSubjects brings the subjects of a binding back to the ServiceAccount alone. One in deletion gives rights until it is gone.
func (r rights) keepSubjects(ctx context.Context, present, wanted client.Object) error {
	switch {
	case sameSubjects(present, wanted):
		return nil
	case isGoing(present):
		return useless(present)
	}
	switch p := present.(type) {
	case *rbacv1.ClusterRoleBinding:
		p.Subjects = subjectsIn(wanted)
	case *rbacv1.RoleBinding:
		p.Subjects = subjectsIn(wanted)
	}
	return r.Update(ctx, present)
}

// present returns the bindings that carry the labels of a pair, in all namespaces.
func (r rights) present(ctx context.Context, key pair.Key) ([]client.Object, error) {
	return r.labelled(ctx, client.MatchingLabels(key.Labels()))
}

func (r rights) labelled(ctx context.Context, labels client.MatchingLabels) ([]client.Object, error) {
	wide, narrow := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	if err := r.List(ctx, wide, labels); err != nil {
		return nil, err
	}
	if err := r.List(ctx, narrow, labels); err != nil {
		return nil, err
	}
	var all []client.Object
	for i := range wide.Items {
		all = append(all, &wide.Items[i])
	}
	for i := range narrow.Items {
		all = append(all, &narrow.Items[i])
	}
	return all, nil
}

// placed are bindings by their place.
type placed map[string]client.Object

func byPlace(bindings []client.Object) placed {
	found := make(placed, len(bindings))
	for _, binding := range bindings {
		found[place(binding)] = binding
	}
	return found
}

// find returns the binding at the place of another one; nil where there is none.
func (p placed) find(binding client.Object) client.Object { return p[place(binding)] }

// place tells bindings apart: by kind, namespace and name.
func place(binding client.Object) string {
	return kindOf(binding) + "/" + binding.GetNamespace() + "/" + binding.GetName()
}

func kindOf(binding client.Object) string {
	if _, isWide := binding.(*rbacv1.ClusterRoleBinding); isWide {
		return "ClusterRoleBinding"
	}
	return "RoleBinding"
}

func sameRole(a, b client.Object) bool { return roleRef(a) == roleRef(b) }

func sameSubjects(a, b client.Object) bool {
	return equality.Semantic.DeepEqual(subjectsIn(a), subjectsIn(b))
}

func isGoing(binding client.Object) bool { return !binding.GetDeletionTimestamp().IsZero() }

func subjectsIn(binding client.Object) []rbacv1.Subject {
	switch b := binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		return b.Subjects
	case *rbacv1.RoleBinding:
		return b.Subjects
	}
	return nil
}

func roleRef(binding client.Object) rbacv1.RoleRef {
	switch b := binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		return b.RoleRef
	case *rbacv1.RoleBinding:
		return b.RoleRef
	}
	return rbacv1.RoleRef{}
}
