// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// maxListed is how many Environments the status of a registration lists. It is written whenever a pair changes: with all pairs of a fleet in it, what
// is written would grow with the square of the fleet.
const maxListed = 10

// judgement is how the deployer of a registration is installed in the Environments.
type judgement struct {
	// listed are those of the status.
	listed []v1alpha1.RegistrationEnvironment
	// failure is the gravest that is missing; nil when nothing is.
	failure      *protocol.Failure
	total, ready int
}

// judge says how the deployer is installed in each Environment. What an Environment says about a deadlock counts more than what the Installation
// says, which only waits. Listed are first those where it is not ready.
func judge(registration *v1alpha1.DeployerRegistration, environments []*v1alpha1.Environment, installations []*v1alpha1.Installation) judgement {
	found := judgement{total: len(environments)}
	var ready []v1alpha1.RegistrationEnvironment
	made := map[pair.Key]*v1alpha1.Installation{}
	for _, installation := range installations {
		made[pair.Of(installation)] = installation
	}
	sorted := slices.Clone(environments)
	slices.SortFunc(sorted, func(a, b *v1alpha1.Environment) int { return cmp.Compare(a.Name, b.Name) })
	for _, env := range sorted {
		key := pair.Key{Registration: registration.Name, Environment: env.Name}
		shown := v1alpha1.RegistrationEnvironment{Name: env.Name}
		failure := judgePair(key, env, made[key], &shown)
		if shown.Ready {
			found.ready++
			ready = append(ready, shown)
		} else {
			found.listed = append(found.listed, shown)
		}
		if failure != nil && (found.failure == nil || found.failure.Kind != protocol.Stalled && failure.Kind == protocol.Stalled) {
			found.failure = failure
		}
	}
	found.listed = append(found.listed, ready...)
	found.listed = found.listed[:min(len(found.listed), maxListed)]
	return found
}

// judgePair judges one pair by its Installation, which may be nil.
func judgePair(key pair.Key, env *v1alpha1.Environment, installation *v1alpha1.Installation, shown *v1alpha1.RegistrationEnvironment) *protocol.Failure {
	if err := key.Check(operation); err != nil {
		shown.Message = err.Error()
		return protocol.AsFailure(operation, err)
	}
	if installation != nil {
		shown.Installation = installation.Name
	}
	state := pair.StateOf(installation)
	shown.Ready = state.Ready
	if state.Ready {
		return nil
	}
	failure := &protocol.Failure{Kind: protocol.Waiting, Operation: operation, Reason: "DeployerNotReady"}
	if state.Stalled {
		failure.Kind = protocol.Stalled
	}
	message := state.Message
	for _, deployer := range env.Status.Deployers {
		if deployer.Name == key.Registration && deployer.Message != "" {
			failure.Kind, failure.Reason, failure.Codes = protocol.Stalled, "DeployerPrevented", []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
			message = deployer.Message
		}
	}
	if failure.Kind != protocol.Stalled && !conditions.IsTrue(env, v1alpha1.AgentConnectedCondition) {
		failure.Kind, failure.Reason = protocol.Waiting, protocol.ReasonAgentUnreachable
		message += "; " + cmp.Or(conditions.GetMessage(env, v1alpha1.AgentConnectedCondition), "its agent is awaited")
	}
	shown.Message = protocol.Message(message)
	failure.Err = fmt.Errorf("environment %s: %s", env.Name, shown.Message)
	return failure
}

// observe puts the judgement into the status.
func (s *scope) observe(found judgement) {
	d := s.registration
	d.Status.ObservedGeneration = d.Generation
	if requested, ok := meta.ReconcileAnnotationValue(d.Annotations); ok {
		d.Status.LastHandledReconcileAt = requested
	}
	d.Status.Environments = found.listed
	d.Status.TotalEnvironments, d.Status.ReadyEnvironments = int32(found.total), int32(found.ready) // #nosec G115 -- nobody has so many clusters
	if found.failure != nil && found.failure.Kind == protocol.Stalled {
		d.Status.LastError = protocol.NewError(d.Status.LastError, found.failure, s.now)
	} else {
		d.Status.LastError = nil
	}
	pair.Show(d, found.failure, "", fmt.Sprintf("installed in Environments: %d", found.total))
}
