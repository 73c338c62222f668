// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Configuration is the configuration file of the agent, of kind AgentConfiguration.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	// Name of the Environment. No other agent has it. Required.
	Name string `json:"name"`
	// Namespace of the own cluster for the deployers and their access; default ls-system.
	Namespace string `json:"namespace,omitempty"`
	// LandscaperNamespace is the namespace of the Environment on the landscaper cluster, ls-env- and its name; default is ls-system, which Environments
	// without their own share.
	LandscaperNamespace string `json:"landscaperNamespace,omitempty"`
	// OCI holds settings of the access to registries.
	OCI *managedresource.OCIConfiguration `json:"oci,omitempty"`
	// TargetSelectors are for the deployers of the Environment; default are the Targets annotated with its name.
	TargetSelectors []v1alpha1.TargetSelector `json:"targetSelectors,omitempty"`
	// HostRights says what the deployers may do in the own cluster: Namespace, the default, or Cluster. An addition to the existing file.
	HostRights HostRights `json:"hostRights,omitempty"`
	// TargetNamespaces are the namespaces of the landscaper cluster whose Targets may use the access of the deployers, * for all; default is
	// LandscaperNamespace alone. An addition to the existing file.
	TargetNamespaces []string `json:"targetNamespaces,omitempty"`
}

// HostRights says what the access of the deployers may do in the cluster of the agent.
type HostRights string

// Values of HostRights.
const (
	// NamespaceRights are for workloads, their configuration and their own rights in Configuration.Namespace.
	NamespaceRights HostRights = "Namespace"
	// ClusterRights are all rights there are.
	ClusterRights HostRights = "Cluster"
)

const (
	configurationGroup = "config.landscaper.gardener.cloud/v1alpha1"
	configurationKind  = "AgentConfiguration"
	defaultNamespace   = "ls-system"
	// maxName leaves room for the prefixes and suffixes of what is named after the Environment.
	maxName = 56
)

// ReadConfiguration reads a configuration file, as YAML or JSON, and sets its defaults. The second result are the keys that are not known. Errors
// name field and cure.
func ReadConfiguration(text []byte) (*Configuration, []document.Key, error) {
	raw, err := foreign.ToJSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the file %w", err)
	}
	config := &Configuration{}
	if err := document.Read(raw, metav1.TypeMeta{APIVersion: configurationGroup, Kind: configurationKind}, config); err != nil {
		return nil, nil, err
	}
	config.setDefaults()
	return config, document.Keys(raw, config), config.check()
}

func (c *Configuration) setDefaults() {
	c.Namespace = cmp.Or(c.Namespace, defaultNamespace)
	c.LandscaperNamespace = cmp.Or(c.LandscaperNamespace, defaultNamespace)
	c.HostRights = cmp.Or(c.HostRights, NamespaceRights)
	if len(c.TargetNamespaces) == 0 {
		c.TargetNamespaces = []string{c.LandscaperNamespace}
	}
	if len(c.TargetSelectors) == 0 {
		c.TargetSelectors = []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{environmentIs(c.Name)}}}
	}
}

// environmentIs selects the Targets of an environment.
func environmentIs(name string) v1alpha1.Requirement {
	return v1alpha1.Requirement{Key: v1alpha1.EnvironmentAnnotation, Operator: "=", Values: []string{name}}
}

func (c *Configuration) check() error {
	switch problems := validation.IsDNS1123Label(c.Name); {
	case c.Name == "":
		return fmt.Errorf("name: is missing; give the Environment a name that no other one has")
	case len(problems) > 0:
		return fmt.Errorf("name: %q is not a valid name of an Environment: %s", c.Name, strings.Join(problems, ", "))
	case len(c.Name) > maxName:
		return fmt.Errorf("name: has more than %d characters; shorten it", maxName)
	}
	for field, namespace := range map[string]string{"namespace": c.Namespace, "landscaperNamespace": c.LandscaperNamespace} {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("%s: %q is not a valid name of a namespace: %s", field, namespace, strings.Join(problems, ", "))
		}
	}
	if c.HostRights != NamespaceRights && c.HostRights != ClusterRights {
		return fmt.Errorf("hostRights: is %q; write %s or %s", document.Brief(c.HostRights), NamespaceRights, ClusterRights)
	}
	for i, namespace := range c.TargetNamespaces {
		if problems := validation.IsDNS1123Label(namespace); namespace != "*" && len(problems) > 0 {
			return fmt.Errorf("targetNamespaces[%d]: %q is neither a namespace nor *", i, document.Brief(namespace))
		}
	}
	return nil
}

// DeployerIdentity is the identity of the helm deployer of the agent.
func (c *Configuration) DeployerIdentity() string { return "agent-helm-deployer-" + c.Name }

// DeployerSelectors select the Target that the helm deployer of the agent serves: that of the own cluster, which is for it alone.
func (c *Configuration) DeployerSelectors() []v1alpha1.TargetSelector {
	return []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{
		environmentIs(c.Name), {Key: v1alpha1.DeployerOnlyAnnotation, Operator: "exists"},
	}}}
}

// accessName is the name of the Secret with the access of the deployers, in Configuration.Namespace.
func (c *Configuration) accessName() string { return c.Name + "-target-access" }

// Account is the ServiceAccount of the deployers' access, by its name only.
func (c *Configuration) Account() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.accountName()}}
}

// credentialName is the name of the Secret with the credential of the agent for the landscaper cluster, in Configuration.Namespace.
func (c *Configuration) credentialName() string { return c.Name + "-agent-credential" }

// accountName is the name of the ServiceAccount of the deployers' access, in Configuration.Namespace.
func (c *Configuration) accountName() string { return "deployer-" + c.Name }

// rightsName is the name of the role and of the binding of that ServiceAccount.
func (c *Configuration) rightsName() string { return "landscaper:agent:deployer:" + c.Name }

// leaseName is the name of the Lease on the landscaper cluster, in Configuration.LandscaperNamespace.
func (c *Configuration) leaseName() string { return v1alpha1.AgentLeasePrefix + c.Name }

// namespaceRules are what charts of deployers need in the namespace of the deployers. Nothing of it reaches beyond, and roles that a chart brings
// can grant no more than this.
func namespaceRules() []rbacv1.PolicyRule {
	write := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: write, Resources: []string{"configmaps", "secrets", "services", "serviceaccounts", "persistentvolumeclaims"}},
		// Theirs alone: charts that would make it look for it.
		{APIGroups: []string{""}, Verbs: []string{"get"}, Resources: []string{"namespaces"}},
		// The container deployer makes Pods as it goes.
		{APIGroups: []string{""}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}, Resources: []string{"pods"}},
		{APIGroups: []string{"", "events.k8s.io"}, Verbs: []string{"create", "patch"}, Resources: []string{"events"}},
		{APIGroups: []string{"apps"}, Verbs: write, Resources: []string{"deployments", "statefulsets"}},
		{APIGroups: []string{"apps"}, Verbs: []string{"get", "list", "watch"}, Resources: []string{"replicasets", "controllerrevisions"}},
		{APIGroups: []string{"batch"}, Verbs: write, Resources: []string{"jobs", "cronjobs"}},
		{APIGroups: []string{"autoscaling"}, Verbs: write, Resources: []string{"horizontalpodautoscalers"}},
		{APIGroups: []string{"policy"}, Verbs: write, Resources: []string{"poddisruptionbudgets"}},
		{APIGroups: []string{"networking.k8s.io"}, Verbs: write, Resources: []string{"networkpolicies"}},
		{APIGroups: []string{"coordination.k8s.io"}, Verbs: write, Resources: []string{"leases"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Verbs: write, Resources: []string{"roles", "rolebindings"}},
	}
}

// clusterRules are all rights.
func clusterRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
	}
}

// rights returns the role and the binding by which the deployers have their rights, by their names only.
func (c *Configuration) rights(rights HostRights) []client.Object {
	name := metav1.ObjectMeta{Name: c.rightsName()}
	if rights == ClusterRights {
		return []client.Object{&rbacv1.ClusterRole{ObjectMeta: name}, &rbacv1.ClusterRoleBinding{ObjectMeta: name}}
	}
	name.Namespace = c.Namespace
	return []client.Object{&rbacv1.Role{ObjectMeta: name}, &rbacv1.RoleBinding{ObjectMeta: name}}
}

// grant sets what one of the rights has to say. The role of a binding is set where there is none.
func (c *Configuration) grant(object client.Object) {
	switch o := object.(type) {
	case *rbacv1.Role:
		o.Rules = namespaceRules()
	case *rbacv1.ClusterRole:
		o.Rules = clusterRules()
	case *rbacv1.RoleBinding:
		o.Subjects, o.RoleRef.APIGroup = c.subjects(), rbacv1.GroupName
		o.RoleRef.Kind, o.RoleRef.Name = cmp.Or(o.RoleRef.Kind, "Role"), cmp.Or(o.RoleRef.Name, c.rightsName())
	case *rbacv1.ClusterRoleBinding:
		o.Subjects, o.RoleRef.APIGroup = c.subjects(), rbacv1.GroupName
		o.RoleRef.Kind, o.RoleRef.Name = cmp.Or(o.RoleRef.Kind, "ClusterRole"), cmp.Or(o.RoleRef.Name, c.rightsName())
	}
}

// isGranted reports whether a binding is one of this agent. Roles are told apart by their bindings.
func (c *Configuration) isGranted(object client.Object) bool {
	switch o := object.(type) {
	case *rbacv1.RoleBinding:
		return equality.Semantic.DeepEqual(o.Subjects, c.subjects())
	case *rbacv1.ClusterRoleBinding:
		return equality.Semantic.DeepEqual(o.Subjects, c.subjects())
	}
	return true
}

func (c *Configuration) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.accountName()}}
}

// other returns the other kind of rights.
func (r HostRights) other() HostRights {
	if r == ClusterRights {
		return NamespaceRights
	}
	return ClusterRights
}
