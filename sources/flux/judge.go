// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// judge returns nil if the artifact of o may be used: the status speaks of the present spec, the source is not stalled and
// has an artifact. A source that merely failed its last attempt keeps serving what it has.
func judge(k kind, o Object) error {
	wait := func(reason Reason, problem, cure string) error {
		return &Error{reason, true, k.name, o.GetNamespace(), o.GetName(), problem, cure}
	}
	switch {
	case !o.GetDeletionTimestamp().IsZero():
		return wait(NotReady, "it is being deleted", "make it again or refer to another source")
	case k.observed != nil && conditions.IsStalled(o):
		return wait(Stalled, "it is stalled: "+ownMessage(o, meta.StalledCondition), "correct the source")
	case k.observed != nil && k.observed(o) != o.GetGeneration():
		return wait(NotReady, "its latest change is not reconciled yet"+failure(o)+hint(k, o), "waiting for its status")
	case o.GetArtifact() == nil:
		return wait(NotReady, "it has no artifact yet: "+ownMessage(o, meta.ReadyCondition)+hint(k, o), "waiting for its artifact")
	}
	return nil
}

// ownMessage is what the source itself says.
func ownMessage(o Object, condition string) string {
	if message := conditions.GetMessage(o, condition); message != "" {
		return fmt.Sprintf("%q", message)
	}
	return "its status gives no reason"
}

// failures are the conditions of sources that stay from a failure until the next success, so that retries in between do not show.
var failures = []string{
	sourcev1.FetchFailedCondition, sourcev1.BuildFailedCondition, sourcev1.StorageOperationFailedCondition,
}

// failure is what the source says about failing at its present spec: it observes a generation only once it has succeeded with it.
func failure(o Object) string {
	for _, condition := range failures {
		found := conditions.Get(o, condition)
		if found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == o.GetGeneration() {
			return ": " + ownMessage(o, condition)
		}
	}
	return ""
}

// hint names the one state that a person set and that would let everybody wait for ever.
func hint(k kind, o Object) string {
	if k.suspended == nil || !k.suspended(o) {
		return ""
	}
	return " (it is suspended; resume it)"
}
