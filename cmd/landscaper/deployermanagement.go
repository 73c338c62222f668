// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/environment"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/controllers/registration"
)

// managementFlags say whether the process installs deployers into Environments.
type managementFlags struct {
	enabled   bool
	namespace string
	share     bool
}

func (m *managementFlags) bindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&m.enabled, "deployer-management", false,
		"Install the deployers of DeployerRegistrations into Environments; needs the rights of landscaper:deployer-management.")
	flags.StringVar(&m.namespace, "deployer-management-namespace", "ls-system",
		"The namespace of what is made for these deployers, and of the Leases of agents, where an Environment has no namespace of its own; see --shared-environments.")
	flags.BoolVar(&m.share, "shared-environments", false,
		"Let Environments without a namespace of their own share that of --deployer-management-namespace, where they are not kept from each other.")
}

// restrict keeps what others made out of the cache.
func (m *managementFlags) restrict(options *ctrl.Options, allNamespaces bool) error {
	if !m.enabled {
		return nil
	}
	if !allNamespaces {
		return errors.New("--deployer-management works across namespaces; remove --watch-all-namespaces=false, or --deployer-management")
	}
	made, err := labels.NewRequirement(v1alpha1.DeployerRegistrationLabel, selection.Exists, nil)
	if err != nil {
		return err
	}
	agents, err := labels.NewRequirement(v1alpha1.DeployerEnvironmentLabel, selection.Exists, nil)
	if err != nil {
		return err
	}
	selector := labels.NewSelector().Add(*made)
	options.Cache.ByObject[&corev1.ServiceAccount{}] = cache.ByObject{Label: selector}
	options.Cache.ByObject[&rbacv1.ClusterRoleBinding{}] = cache.ByObject{Label: selector}
	options.Cache.ByObject[&rbacv1.RoleBinding{}] = cache.ByObject{Label: selector}
	leases := map[string]cache.Config{cache.AllNamespaces: {LabelSelector: labels.NewSelector().Add(*agents)}}
	if m.share {
		leases[m.namespace] = cache.Config{} // also those of agents that do not label theirs
	}
	options.Cache.ByObject[&coordinationv1.Lease{}] = cache.ByObject{Namespaces: leases}
	return nil
}

// environments prepares Environments and uninstalls what is in those that go.
func (f *controllerFlags) environments(mgr ctrl.Manager, recorder record.EventRecorder) *environment.Reconciler {
	return &environment.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Homes: f.management.homes(), Shard: f.shard,
		Backoff: f.backoff(), Now: time.Now, Share: f.management.share,
	}
}

// registrations installs the deployers of DeployerRegistrations.
func (f *controllerFlags) registrations(mgr ctrl.Manager, recorder record.EventRecorder) *registration.Reconciler {
	return &registration.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Homes: f.management.homes(), Shard: f.shard,
		Backoff: f.backoff(), Now: time.Now,
	}
}

// homes says where what belongs to an Environment without a namespace of its own is.
func (m *managementFlags) homes() pair.Homes { return pair.Homes{Shared: m.namespace} }
