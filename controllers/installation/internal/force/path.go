// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package force

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const (
	// maxParts is how many Installations a path names: as many as may work below each other.
	maxParts = 64
	// maxTemplateName is how many bytes of an annotation are the name of a sub-installation. Whoever may write the object may write more.
	maxTemplateName = 63
)

// tree has by UID where each Installation is below the one that is deleted by force. Trees may be as deep as they like, because nothing below may be
// forgotten; so it keeps names, and paths are made where somebody reads them.
type tree map[types.UID]node

// node is an Installation of a tree, with the UID of the one above, empty for the top.
type node struct {
	above types.UID
	name  string
}

// path is the way to an Installation. Of one that is too deep it is the end.
func (t tree) path(uid types.UID) string {
	var parts []string
	for uid != "" {
		if len(parts) == maxParts {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, t[uid].name)
		uid = t[uid].above
	}
	slices.Reverse(parts)
	return strings.Join(parts, "/")
}

// nameBelow is what an Installation is called below its owner: the name of its template where it says one.
func nameBelow(inst *v1alpha1.Installation) string {
	if name := inst.Annotations[v1alpha1.SubinstallationNameAnnotation]; name != "" && len(name) <= maxTemplateName {
		return name
	}
	return inst.Name
}
