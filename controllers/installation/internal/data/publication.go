// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package data

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Publication is what to do about one export.
type Publication int

const (
	// isPublished: it is there.
	IsPublished Publication = iota
	// publishNew: there is none.
	PublishNew
	// publishInstead: it has another content, or no owner.
	PublishInstead
	// publishAfter: one is there that is only kept for uninstalling.
	PublishAfter
	// publishForOther: another Installation owns it, if that exists.
	PublishForOther
)

// PublicationOf returns what to do about an export, given what is there; nil is nothing.
func PublicationOf(inst *v1alpha1.Installation, wanted, existing client.Object) Publication {
	switch {
	case existing == nil:
		return PublishNew
	case !existing.GetDeletionTimestamp().IsZero():
		return PublishAfter
	case OtherOwner(existing, inst) != nil:
		return PublishForOther
	case OwnedByUID(existing, inst) && SameContent(existing, wanted):
		return IsPublished
	}
	return PublishInstead
}
