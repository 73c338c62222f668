// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/defaultcontext"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation"
)

// contextFlags say whether every namespace gets a default Context, and what holds where a Context does not say it.
type contextFlags struct {
	repository string
	excluded   []string
	access     string
	following  installation.Following
}

func (c *contextFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.repository, "default-repository-context", "",
		"Keep a Context named default with this repositoryContext, as JSON or YAML, in every namespace; empty leaves Contexts alone.")
	flags.StringSliceVar(&c.excluded, "default-context-excluded-namespaces", nil, "Namespaces whose Context named default is left alone.")
	flags.StringVar(&c.access, blueprintAccessFlag, string(v1alpha1.BlueprintAccessNamespace),
		"What blueprints may use where their Context has no blueprintAccess: imports, which is what the root Installation imports, or namespace, "+
			"which is everything that a field can name there.")
	flags.BoolVar(&c.following.ByDefault, "reconcile-if-changed", false,
		"Start jobs for changes of Installations that do not say themselves, by annotation, whether changes do, where neither their Context nor their namespace says it.")
	flags.DurationVar(&c.following.Spread, "reconcile-if-changed-spread", 10*time.Minute,
		"The time over which changes that have waited start their jobs, once they do by default.")
}

const blueprintAccessFlag = "default-blueprint-access"

// blueprintAccess is what blueprints may use by default.
func (c *contextFlags) blueprintAccess() (v1alpha1.BlueprintAccess, error) {
	switch access := v1alpha1.BlueprintAccess(c.access); access {
	case v1alpha1.BlueprintAccessImports, v1alpha1.BlueprintAccessNamespace:
		return access, nil
	}
	return "", fmt.Errorf("--%s: %q is unknown; set imports or namespace", blueprintAccessFlag, c.access)
}

// parse reads the repository context. It is nil when none is configured.
func (c *contextFlags) parse() (*v1alpha1.AnyJSON, error) {
	if c.repository == "" {
		return nil, nil
	}
	raw, err := yaml.YAMLToJSON([]byte(c.repository))
	if err != nil {
		return nil, fmt.Errorf("--default-repository-context is neither JSON nor YAML: %w", err)
	}
	var typed struct {
		Type string `json:"type"`
	}
	if err := yaml.Unmarshal(raw, &typed); err != nil || typed.Type == "" {
		return nil, errors.New(`--default-repository-context has to be an object with a type, for example {"type": "OCIRegistry", "baseUrl": "registry.example.com/components"}`)
	}
	parsed := v1alpha1.NewAnyJSON(raw)
	return &parsed, nil
}

// restrict keeps namespaces other than the own one out of the cache of a process that does not watch them.
func (c *contextFlags) restrict(options *ctrl.Options, all bool) {
	if c.repository != "" && !all {
		own := fields.OneTermEqualSelector("metadata.name", os.Getenv("RUNTIME_NAMESPACE"))
		options.Cache.ByObject[&corev1.Namespace{}] = cache.ByObject{Field: own}
	}
}

// setup registers the controller of default Contexts, where one is configured.
func (c *contextFlags) setup(mgr ctrl.Manager, p *process) error {
	repository, err := c.parse()
	if err != nil || repository == nil {
		return err
	}
	if err := c.keeper(mgr, *repository, p).SetupWithManager(mgr, p.concurrent); err != nil {
		return fmt.Errorf("set the controller of default contexts up: %w", err)
	}
	return nil
}

// keeper keeps the Contexts named default.
func (c *contextFlags) keeper(mgr ctrl.Manager, repository v1alpha1.AnyJSON, p *process) *defaultcontext.Reconciler {
	return &defaultcontext.Reconciler{Client: mgr.GetClient(), RepositoryContext: repository, Excluded: c.excluded, Backoff: p.backoff()}
}
