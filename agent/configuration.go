// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	core "github.com/flux-landscaper/flux-landscaper/api/deployers/core/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
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
	OCI *core.OCIConfiguration `json:"oci,omitempty"`
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
