// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

const (
	// roleOfRelay leads through the API server to the content relay.
	roleOfRelay = "landscaper:relay-client"
	// relaySuffix ends the names of what a deployer has for the relay alone.
	relaySuffix = "-content-relay"
)

// Relay is the namespace of the content relay; empty where there is none.
type Relay string

// serves reports whether a deployer gets content from the relay: one that has a role for sources.
func (r Relay) serves(w *work) bool { return r != "" && len(roles(w.registration)) > 1 }

// keepToken makes the Role by which a deployer requests tokens of its own ServiceAccount: it shows them to the relay. It goes with the Installation.
func (r Relay) keepToken(ctx context.Context, live client.Reader, c client.Client, w *work) error {
	if !r.serves(w) {
		return nil
	}
	wanted := &rbacv1.Role{ObjectMeta: w.made(), Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{w.key.Name()}, Verbs: []string{"create"},
	}}}
	wanted.Name += relaySuffix
	present := &rbacv1.Role{}
	err := live.Get(ctx, client.ObjectKeyFromObject(wanted), present)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, wanted)
	}
	if err == nil {
		err = w.checkOwn("Role", present)
	}
	if err != nil || equality.Semantic.DeepEqual(present.Rules, wanted.Rules) {
		return err
	}
	present.Rules = wanted.Rules
	return c.Update(ctx, present)
}

// bindings returns those of a deployer that the relay serves: to that Role, and to the way to the relay.
func (r Relay) bindings(key pair.Key, home string, subjects []rbacv1.Subject) []client.Object {
	in := func(namespace, suffix, kind, role string) client.Object {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: key.Name() + suffix, Labels: key.Labels()}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
		}
	}
	return []client.Object{
		in(home, relaySuffix+"-token", "Role", key.Name()+relaySuffix), in(string(r), relaySuffix, "ClusterRole", roleOfRelay),
	}
}
