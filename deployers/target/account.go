// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
)

// Actor is who works on a cluster, as far as the object that asks for it says so.
type Actor struct {
	// ServiceAccount names a ServiceAccount of the namespace; empty leaves it to the Target.
	ServiceAccount string
}

// ActorOf returns who carries a DeployItem out.
func ActorOf(item *v1alpha1.DeployItem) Actor {
	return Actor{ServiceAccount: item.Spec.ServiceAccountName}
}

// Accounts name the ServiceAccount, in the namespace of a Target, that is acted as where neither the Target nor an actor names one. Both may be
// empty.
type Accounts struct {
	// Kubeconfig is impersonated with the credentials of a kubeconfig or oidcConfig.
	Kubeconfig string
	// Self stands in a selfConfig that names no ServiceAccount.
	Self string
}

// of returns the ServiceAccount that an actor acts as; empty where nobody names one. What the actor says goes before what the Target says, and
// that before the default. A selfConfig that names a ServiceAccount has no default: it acts as one of the namespace already.
func (a Accounts) of(parsed *content, target *v1alpha1.Target, actor Actor) (string, error) {
	account := cmp.Or(actor.ServiceAccount, target.Spec.ServiceAccountName)
	switch {
	case account != "" && !validation.IsServiceAccountName(account):
		return "", refuse(namedBy(actor), fmt.Sprintf("%q is not a valid name of a ServiceAccount", account),
			"give the name alone: it is one of the same namespace")
	case account != "":
		return account, nil
	case parsed.self == nil:
		return a.Kubeconfig, nil
	case parsed.self.ServiceAccount.Name == "":
		return a.Self, nil
	}
	return "", nil
}

// Impersonated reports whether an actor acts on the cluster of a Target in the name of a ServiceAccount, and not as the content alone says. An error
// says that the content cannot be read.
func (a Accounts) Impersonated(target *v1alpha1.Target, content []byte, actor Actor) (bool, error) {
	if target.Spec.Type != v1alpha1.KubernetesClusterTargetType || len(content) == 0 {
		return cmp.Or(actor.ServiceAccount, target.Spec.ServiceAccountName) != "", nil
	}
	parsed, err := parseContent(content)
	if err != nil {
		return false, located(target, err)
	}
	account, err := a.of(parsed, target, actor)
	if err != nil {
		return false, located(target, err)
	}
	return account != "", nil
}

// impersonate makes the requests of a configuration those of a ServiceAccount; an empty name changes nothing. API servers know its groups.
func impersonate(config *rest.Config, namespace, account string) *rest.Config {
	if account != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account)}
	}
	return config
}

// namedBy is the field with the name of a ServiceAccount.
func namedBy(actor Actor) string {
	if actor.ServiceAccount != "" {
		return "spec.serviceAccountName of the DeployItem"
	}
	return "spec.serviceAccountName"
}
