// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conflict is one field that another manager has set to another value.
type Conflict struct{ Field, Manager string }

// manager finds the name in the words of an API server.
var manager = regexp.MustCompile(`conflict with "([^"]*)"`)

// ConflictsIn returns the conflicts that an API server names; none for other errors, and other conflicts.
func ConflictsIn(err error) []Conflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var conflicts []Conflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		name := "another manager"
		if found := manager.FindStringSubmatch(cause.Message); found != nil {
			name = found[1]
		}
		conflicts = append(conflicts, Conflict{Field: cause.Field, Manager: name})
	}
	return conflicts
}

// IsOfEarlierManagers reports whether all conflicts are with managers whose fields are about to be taken over.
func IsOfEarlierManagers(conflicts []Conflict) bool {
	return !slices.ContainsFunc(conflicts, func(c Conflict) bool {
		return !earlierManagers[c.Manager] && !strings.HasPrefix(c.Manager, "kubectl") && c.Manager != helmManager
	})
}
