// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestT02ABlueprintInPlaceIsTheOneThatTheParentRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		sealed, given string
		job           string
		good          bool
	}{
		"the same":               {sealed: `{"blueprint.yaml":"x","n":1}`, given: `{"blueprint.yaml":"x","n":1}`, job: "job", good: true},
		"the same, written anew": {sealed: `{"blueprint.yaml":"x","n":1}`, given: `{ "n": 1, "blueprint.yaml": "x" }`, job: "job", good: true},
		"another":                {sealed: `{"blueprint.yaml":"x"}`, given: `{"blueprint.yaml":"y"}`, job: "job"},
		"another big number":     {sealed: `{"n":9007199254740993}`, given: `{"n":9007199254740992}`, job: "job"},
		"another job":            {sealed: `{"blueprint.yaml":"x"}`, given: `{"blueprint.yaml":"x"}`, job: "own"},
		"nothing recorded":       {given: `{"blueprint.yaml":"x"}`, job: "job"},
	} {
		t.Run(name, func(t *testing.T) {
			parent := fixture.Node("parent", "", "child")
			parent.Status.JobID = "job"
			if tc.sealed != "" {
				digest, err := InPlaceDigest([]byte(tc.sealed))
				require.NoError(t, err)
				parent.Status.SubInstCache.ActiveSubs[0].BlueprintDigest = digest
			}
			child := fixture.Node("child", "parent")
			child.Status.JobID = tc.job
			child.Spec.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(tc.given))}
			err := with(t, parent).verifyInPlace(t.Context(), &Reading{inst: child})
			if tc.good {
				require.NoError(t, err)
				return
			}
			var failure *protocol.Failure
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, jobs.ReasonUnverified, failure.Reason)
		})
	}
}

func TestT02UnderEnforceOnlyVerifiedBlueprintsRun(t *testing.T) {
	inline := v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{}`))}}
	source := v1alpha1.BlueprintDefinition{SourceReference: &v1alpha1.SourceReference{Kind: "OCIRepository", Name: "shop"}}
	from := func(verified bool) *resolvedSource {
		return &resolvedSource{status: v1alpha1.SourceStatus{Verified: verified}}
	}
	for name, tc := range map[string]struct {
		policy    SignaturePolicy
		blueprint v1alpha1.BlueprintDefinition
		source    *resolvedSource
		says      string
	}{
		"inline, not enforced":        {policy: DoNotEnforce, blueprint: inline},
		"inline root":                 {policy: Enforce, blueprint: inline, says: "spec.blueprint.inline"},
		"source, not enforced":        {policy: DoNotEnforce, blueprint: source, source: from(false)},
		"source that is not verified": {policy: Enforce, blueprint: source, source: from(false), says: "spec.blueprint.sourceRef"},
		"verified source":             {policy: Enforce, blueprint: source, source: from(true)},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t)
			r.SignaturePolicy = tc.policy
			inst := fixture.Node("root", "")
			inst.Spec.Blueprint = tc.blueprint
			err := r.verifyBlueprint(t.Context(), &Reading{inst: inst, Inputs: Inputs{source: tc.source}})
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestT02ABlueprintThatTheSignatureLeavesOutIsRefused(t *testing.T) {
	definition := v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: "example.com/shop"}}
	found := resolved(t, definition, registryContext, descriptor(t, "shop", ""))
	assert.ErrorContains(t, found.covers("blueprint"), `does not cover resource "blueprint"`)
	resource, err := found.root.Descriptor.FindResource(map[string]string{"name": "blueprint"})
	require.NoError(t, err)
	resource.Digest = &component.DigestSpec{HashAlgorithm: component.NoDigest, NormalisationAlgorithm: component.ExcludeFromSignature}
	require.Error(t, found.covers("blueprint"))
	resource.Digest = &component.DigestSpec{HashAlgorithm: component.HashSHA256, NormalisationAlgorithm: component.OCIArtifactDigest, Value: "00"}
	require.NoError(t, found.covers("blueprint"))
	assert.NoError(t, found.covers("other"), "what is not there is reported where it is read")
}

func TestAnInterruptedVerificationBlamesNoSignature(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var failure *protocol.Failure
	require.ErrorAs(t, notVerified(ctx, errors.New("it was changed")), &failure)
	assert.Equal(t, protocol.Stalled, failure.Kind)
	cancel()
	assert.False(t, errors.As(notVerified(ctx, ctx.Err()), &failure))
}
