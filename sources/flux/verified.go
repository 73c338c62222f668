// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fluxcd/pkg/runtime/conditions"
)

// Verified reports whether Flux has verified the signature of the artifact: the source asks for it in spec.verify, and its condition
// SourceVerified is True for its present spec.
func (s Source) Verified() bool {
	o, ok := s.Object.(Object)
	if !ok || !asksForVerification(o) {
		return false
	}
	found := conditions.Get(o, sourcev1.SourceVerifiedCondition)
	return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == o.GetGeneration()
}

// RequireVerified returns nil if the artifact is verified, and else an *Error that names the cure.
func (s Source) RequireVerified() error {
	o, ok := s.Object.(Object)
	switch {
	case s.Verified():
		return nil
	case !ok || !asksForVerification(o):
		return &Error{NotVerified, false, s.Kind, s.Namespace, s.Name, "Context or operator require sources that Flux has verified, and it has no " +
			"spec.verify", "set spec.verify, or use a GitRepository or OCIRepository, which have it"}
	}
	problem := "Flux has not verified it: " + ownMessage(o, sourcev1.SourceVerifiedCondition)
	return &Error{NotVerified, true, s.Kind, s.Namespace, s.Name, problem, "sign what it refers to, or correct its spec.verify"}
}

func asksForVerification(o Object) bool {
	switch source := o.(type) {
	case *sourcev1.GitRepository:
		return source.Spec.Verification != nil
	case *sourcev1.OCIRepository:
		return source.Spec.Verify != nil
	case *sourcev1.HelmChart:
		return source.Spec.Verify != nil
	}
	return false
}
