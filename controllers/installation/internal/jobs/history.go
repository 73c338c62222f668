// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
)

// RevisionOf returns the revision of the first source of the last job, or the version of the component where there is no source; "" where the
// Installation has neither.
func RevisionOf(inst *v1alpha1.Installation) string {
	revision := ""
	if len(inst.Status.Sources) > 0 {
		revision = inst.Status.Sources[0].Revision
	}
	if component := inst.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
		return cmp.Or(revision, component.Reference.Version)
	}
	return revision
}

// ContentOf returns the digest of all that the last job deployed from: spec, content of the sources, and imports.
func ContentOf(inst *v1alpha1.Installation) string {
	var sources []string
	for _, source := range inst.Status.Sources {
		sources = append(sources, source.Kind, source.Namespace, source.Name, cmp.Or(source.ContentDigest, source.Digest))
	}
	// A spec that was read from JSON can be written as JSON.
	raw, _ := json.Marshal([]any{inst.Spec, sources, inst.Status.ImportsHash})
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// EventMetadata returns the revision of the source that the last job used, and as token the job: notification-controller drops an event that
// it has seen within minutes, unless its revision or token is another.
func EventMetadata(inst *v1alpha1.Installation) map[string]string {
	metadata := notify.Once(inst.Status.JobIDFinished)
	if len(inst.Status.Sources) > 0 {
		metadata[v1alpha1.GroupName+"/"+notify.RevisionKey] = inst.Status.Sources[0].Revision
	}
	return metadata
}

// fullDigest is the digest in a revision, of which a person needs the beginning.
var fullDigest = regexp.MustCompile(`\b(sha[0-9]+:[0-9a-f]{8})[0-9a-f]+`)

// ShortRevision returns a revision as messages show it.
func ShortRevision(revision string) string { return fullDigest.ReplaceAllString(revision, "$1") }

// SucceededMessage says what the last job of an Installation has deployed. It depends only on what is recorded, so that it says the same when it is shown
// again. took is "" where that is not known.
func SucceededMessage(inst *v1alpha1.Installation, items int, took string) string {
	message := "Deployed "
	if revision := inst.Status.LastAppliedRevision; revision != "" {
		message += ShortRevision(revision) + ": "
	}
	message += counted(items, "item")
	if listed := inst.Status.SubInstCache; listed != nil && len(listed.ActiveSubs) > 0 {
		message += " and " + counted(len(listed.ActiveSubs), "sub-installation")
	}
	if took != "" {
		message += " in " + took
	}
	return message
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
