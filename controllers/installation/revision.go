// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// recordRevision enters into the status of an Installation, whose job has just ended, which revision the job used, and what it deployed as
// newest entry of the history. A job whose spec was replaced after the children got it used what recordJob noted, and leaves no entry: nobody has
// that spec any more.
func (s *scope) recordRevision() {
	status := &s.inst.Status
	replaced := s.inst.Generation != status.ObservedGeneration && s.someHaveJob()
	if !replaced {
		status.LastAttemptedRevision = revisionOf(s.inst)
	}
	if status.Phase == v1alpha1.PhaseSucceeded {
		status.LastAppliedRevision = status.LastAttemptedRevision
	}
	if replaced {
		return
	}
	took := time.Duration(0)
	if times := status.TransitionTimes; times != nil && times.TriggerTime != nil {
		took = max(s.now.Sub(times.TriggerTime.Time), 0).Round(time.Second)
	}
	var metadata map[string]string
	if revision := status.LastAttemptedRevision; revision != "" {
		metadata = map[string]string{"revision": revision}
	}
	history := meta.History(status.History)
	history.Upsert(contentOf(s.inst), s.now, took, string(status.Phase), metadata)
	status.History = history
}

// revisionOf returns the revision of the first source of the last job, or the version of the component where there is no source; "" where the
// Installation has neither.
func revisionOf(inst *v1alpha1.Installation) string {
	revision := ""
	if len(inst.Status.Sources) > 0 {
		revision = inst.Status.Sources[0].Revision
	}
	if component := inst.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
		return cmp.Or(revision, component.Reference.Version)
	}
	return revision
}

// contentOf returns the digest of all that the last job deployed from: spec, content of the sources, and imports.
func contentOf(inst *v1alpha1.Installation) string {
	var sources []string
	for _, source := range inst.Status.Sources {
		sources = append(sources, source.Kind, source.Namespace, source.Name, cmp.Or(source.ContentDigest, source.Digest))
	}
	// A spec that was read from JSON can be written as JSON.
	raw, _ := json.Marshal([]any{inst.Spec, sources, inst.Status.ImportsHash})
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}
