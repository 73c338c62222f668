// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pair is what Environments and DeployerRegistrations have in common: the pair of one of each is a deployer in an environment, with an
// Installation that bears its name. It promises nothing to others.
package pair

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// MaxName is the length of the longest name of a pair.
const MaxName = 58

// MaxShown is how many pairs a status lists.
const MaxShown = 200

// ReasonDeadlock says that a deployer can never be installed.
const ReasonDeadlock = "DeployerDeadlock"

// ReasonName says that a pair cannot have its name.
const ReasonName = "InvalidPairName"

// Key names the two halves of a pair.
type Key struct {
	// Registration and Environment are names.
	Registration, Environment string
}

// Name is the name of everything that is made for a pair, <registration>-<environment>. Different pairs may have the same.
func (k Key) Name() string { return k.Registration + "-" + k.Environment }

// Labels are on everything that is made for a pair.
func (k Key) Labels() map[string]string {
	return map[string]string{
		v1alpha1.DeployerEnvironmentLabel: k.Environment, v1alpha1.DeployerRegistrationLabel: k.Registration,
	}
}

// Of returns the pair that an object was made for, from its labels. Both names are empty for other objects.
func Of(object client.Object) Key {
	labels := object.GetLabels()
	return Key{Registration: labels[v1alpha1.DeployerRegistrationLabel], Environment: labels[v1alpha1.DeployerEnvironmentLabel]}
}

// IsMade reports whether an object was made for a pair.
func IsMade(object client.Object) bool {
	key := Of(object)
	return key.Registration != "" && key.Environment != ""
}

// Check fails for a pair whose name would be too long.
func (k Key) Check(operation string) error {
	if len(k.Name()) <= MaxName {
		return nil
	}
	return protocol.Stall(operation, ReasonName,
		"the name %q of DeployerRegistration %q in Environment %q has %d characters, %d at most; shorten the name of one of them",
		k.Name(), k.Registration, k.Environment, len(k.Name()), MaxName)
}

// CheckMade fails for an object that was not made for this pair: it is neither used nor changed.
func (k Key) CheckMade(operation, kind string, object client.Object) error {
	switch other := Of(object); {
	case other == k:
		return nil
	case IsMade(object):
		return protocol.Stall(operation, ReasonName,
			"%s %s belongs to DeployerRegistration %q in Environment %q, and DeployerRegistration %q in Environment %q would have the same name; rename one of them",
			kind, nameOf(object), other.Registration, other.Environment, k.Registration, k.Environment)
	}
	return protocol.Stall(operation, ReasonName,
		"%s %s exists and was not made by the deployer management; delete or rename it, or rename DeployerRegistration %q or Environment %q",
		kind, nameOf(object), k.Registration, k.Environment)
}

func nameOf(object client.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return fmt.Sprintf("%s/%s", object.GetNamespace(), object.GetName())
}

// Homes are the namespaces that hold what is made for pairs: one for each Environment, and one that Environments without their own share.
type Homes struct {
	// Shared is the namespace of the deployer management.
	Shared string
}

// Own is the name of the namespace that belongs to one Environment.
func (h Homes) Own(environment string) string {
	return v1alpha1.EnvironmentNamespacePrefix + environment
}

// Has reports whether a namespace may hold what is made for an Environment.
func (h Homes) Has(namespace, environment string) bool {
	return namespace == h.Shared || namespace == h.Own(environment)
}

// Holds reports whether an object was made for a pair and is where those of its Environment are.
func (h Homes) Holds(object client.Object) bool {
	return IsMade(object) && h.Has(object.GetNamespace(), Of(object).Environment)
}

// OfEnvironment returns the Installations of an Environment, by name. They may be the cache's own: whoever changes one copies it first.
func (h Homes) OfEnvironment(ctx context.Context, c client.Reader, name string) ([]*v1alpha1.Installation, error) {
	var all []*v1alpha1.Installation
	for _, namespace := range []string{h.Own(name), h.Shared} {
		found, err := h.installations(ctx, c, v1alpha1.DeployerEnvironmentLabel, name, client.InNamespace(namespace))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	sortByName(all)
	return all, nil
}

// OfRegistration returns the Installations of a DeployerRegistration, by name, as OfEnvironment.
func (h Homes) OfRegistration(ctx context.Context, c client.Reader, name string) ([]*v1alpha1.Installation, error) {
	all, err := h.installations(ctx, c, v1alpha1.DeployerRegistrationLabel, name)
	sortByName(all)
	return all, err
}

func (h Homes) installations(ctx context.Context, c client.Reader, label, value string, more ...client.ListOption) ([]*v1alpha1.Installation, error) {
	list := &v1alpha1.InstallationList{}
	if err := c.List(ctx, list, append(more, client.MatchingLabels{label: value}, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	var made []*v1alpha1.Installation
	for i := range list.Items {
		if h.Holds(&list.Items[i]) {
			made = append(made, &list.Items[i])
		}
	}
	return made, nil
}

func sortByName(installations []*v1alpha1.Installation) {
	slices.SortFunc(installations, func(a, b *v1alpha1.Installation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
}

// State is how far an Installation is.
type State struct {
	// Ready says that the last job succeeded and that nothing newer is asked for.
	Ready bool
	// Stalled says that a person has to act.
	Stalled bool
	// Message says what is missing; empty when Ready.
	Message string
}

// StateOf judges an Installation, which may be nil.
func StateOf(installation *v1alpha1.Installation) State {
	switch {
	case installation == nil:
		return State{Message: "it is not made yet"}
	case !installation.DeletionTimestamp.IsZero():
		return State{Message: "it is being deleted: " + words(installation)}
	case conditions.IsReady(installation) && installation.Status.IsIdle() && installation.Status.ObservedGeneration == installation.Generation:
		return State{Ready: true}
	}
	return State{Stalled: conditions.IsStalled(installation), Message: words(installation)}
}

func words(installation *v1alpha1.Installation) string {
	return cmp.Or(conditions.GetMessage(installation, meta.ReadyCondition), "its job has not begun")
}

// Delete deletes Installations, those in deletion left out, and returns what is waited for; nil when all are gone.
func Delete(ctx context.Context, live client.Reader, c client.Client, operation string, installations []*v1alpha1.Installation) error {
	for _, installation := range installations {
		if !installation.DeletionTimestamp.IsZero() {
			continue
		}
		if err := protocol.DeleteLive(ctx, live, c, installation.DeepCopy(), nil); err != nil {
			return err
		}
	}
	if len(installations) == 0 {
		return nil
	}
	first := installations[0]
	more := ""
	if n := len(installations) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return protocol.Wait(operation, protocol.ReasonDeleting, "Installation %s/%s%s has to be gone first; it says: %s",
		first.Namespace, first.Name, more, words(first))
}

// ReadNamespace reads the metadata of a namespace.
func ReadNamespace(ctx context.Context, c client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return found, c.Get(ctx, client.ObjectKey{Name: name}, found)
}

// Allowed returns the namespaces in which the deployers of an Environment may work by what its own namespace says; nil is all.
func Allowed(home *metav1.PartialObjectMetadata) []string {
	text, isLimited := home.Annotations[v1alpha1.AllowedNamespacesAnnotation]
	allowed := names(text)
	if !isLimited || slices.Contains(allowed, "*") {
		return nil
	}
	return allowed
}

// Reaches reports whether the deployers of an Environment may work in a namespace. Those of one that has no namespace may work nowhere.
func (h Homes) Reaches(ctx context.Context, c client.Reader, env *v1alpha1.Environment, namespace string) (bool, error) {
	switch {
	case namespace == env.Status.Namespace:
		return true, nil
	case env.Spec.Namespaces != nil && !slices.Contains(env.Spec.Namespaces, namespace):
		return false, nil
	case env.Status.Namespace == h.Shared:
		return true, nil
	case env.Status.Namespace != h.Own(env.Name):
		return false, nil
	}
	home, err := ReadNamespace(ctx, c, h.Own(env.Name))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	allowed := Allowed(home)
	return allowed == nil || slices.Contains(allowed, namespace), nil
}

// names reads a list that is written by comma; it is not nil.
func names(text string) []string {
	found := []string{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

// Show puts into the conditions of an Environment or DeployerRegistration that it is Ready, with a message, or what keeps it from that. Working is
// the reason of Reconciling where nobody has to act; empty means that of the failure.
func Show(obj conditions.Setter, failure *protocol.Failure, working, ready string) {
	if failure == nil {
		conditions.Delete(obj, meta.ReconcilingCondition)
		conditions.Delete(obj, meta.StalledCondition)
		conditions.MarkTrue(obj, meta.ReadyCondition, meta.SucceededReason, "%s", ready)
		return
	}
	reason, message := protocol.Reason(failure.Reason), protocol.Message(failure.Error())
	if failure.Kind == protocol.Stalled {
		conditions.MarkStalled(obj, reason, "%s", message)
	} else {
		conditions.MarkReconciling(obj, cmp.Or(working, reason), "%s", message)
	}
	conditions.MarkFalse(obj, meta.ReadyCondition, reason, "%s", message)
}

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
