// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Deployer is what decides when a deployer can be installed.
type Deployer struct {
	// Name of its DeployerRegistration.
	Name string
	// Serves are the types of DeployItems that it carries out.
	Serves []string
	// Needs are the types of DeployItems that install it.
	Needs []string
}

// builtIn are the types of the deployers that come with the landscaper, by the usual names of their registrations.
var builtIn = map[string]string{
	"helm": v1alpha1.HelmDeployItemType, "manifest": v1alpha1.ManifestDeployItemType,
	"container": v1alpha1.ContainerDeployItemType, "mock": v1alpha1.MockDeployItemType,
}

// Serves returns the types that a registration says its deployer carries out. One that says nothing is known by its name, if at all.
func Serves(registration *v1alpha1.DeployerRegistration) []string {
	if types := registration.Spec.DeployItemTypes; len(types) > 0 {
		return types
	}
	if known := builtIn[registration.Name]; known != "" {
		return []string{known}
	}
	return nil
}

// Deadlocks returns of the deployers of one environment those that can never be installed, with the reason: a circle, or a type that nobody
// serves, with the path to it. Given are the types that are served before any deployer is installed. Every other deployer can be installed after
// those that serve the types that it needs.
func Deadlocks(deployers []Deployer, given ...string) map[string]string {
	blocked := blockedOf(deployers, given)
	reasons := map[string]string{}
	for name := range blocked {
		reasons[name] = explain(name, deployers, blocked)
	}
	return reasons
}

// blockedOf returns for each deployer that can never be installed the first type that it lacks.
func blockedOf(deployers []Deployer, given []string) map[string]string {
	served, blocked := map[string]bool{}, map[string]string{}
	for _, itemType := range given {
		served[itemType] = true
	}
	for _, d := range deployers {
		blocked[d.Name] = ""
	}
	for again := true; again; {
		again = false
		for _, d := range deployers {
			lacks := slices.IndexFunc(d.Needs, func(need string) bool { return !served[need] })
			if _, waits := blocked[d.Name]; !waits {
				continue
			}
			if lacks >= 0 {
				blocked[d.Name] = d.Needs[lacks]
				continue
			}
			delete(blocked, d.Name)
			for _, itemType := range d.Serves {
				served[itemType] = true
			}
			again = true
		}
	}
	return blocked
}

// explain follows what a deployer lacks up to a type that nobody serves, or back to a deployer on the way.
func explain(name string, deployers []Deployer, blocked map[string]string) string {
	way, steps := []string{name}, []string(nil)
	for {
		lacks := blocked[name]
		server := slices.IndexFunc(deployers, func(d Deployer) bool { return slices.Contains(d.Serves, lacks) })
		if server < 0 {
			steps = append(steps, fmt.Sprintf("%s needs type %s, which no DeployerRegistration serves", name, lacks))
			return strings.Join(steps, ", ") + "; register a deployer for it"
		}
		next := deployers[server].Name
		steps = append(steps, fmt.Sprintf("%s needs type %s of %s", name, lacks, next))
		if slices.Contains(way, next) {
			return strings.Join(steps, ", ") + ": a circle; let one of them be installed with type " + v1alpha1.HelmDeployItemType
		}
		name, way = next, append(way, next)
	}
}
