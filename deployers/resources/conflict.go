// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// reasonConflict says that another field manager has set a field to another value.
const reasonConflict = "FieldConflict"

// namedConflicts bounds how many fields one message names.
const namedConflicts = 5

// conflict is one field that another manager has set to another value.
type conflict struct{ field, manager string }

// manager finds the name in the words of an API server.
var manager = regexp.MustCompile(`conflict with "([^"]*)"`)

// conflictsIn returns the conflicts that an API server names; none for other errors, and other conflicts.
func conflictsIn(err error) []conflict {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var conflicts []conflict
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		name := "another manager"
		if found := manager.FindStringSubmatch(cause.Message); found != nil {
			name = found[1]
		}
		conflicts = append(conflicts, conflict{field: cause.Field, manager: name})
	}
	return conflicts
}

// isOfEarlierManagers reports whether all conflicts are with managers whose fields are about to be taken over.
func isOfEarlierManagers(conflicts []conflict) bool {
	return !slices.ContainsFunc(conflicts, func(c conflict) bool {
		return !earlierManagers[c.manager] && !strings.HasPrefix(c.manager, "kubectl") && c.manager != helmManager
	})
}

// conflictError names the fields of an object that others have set.
func conflictError(ref managedresource.ResourceReference, conflicts []conflict, cause error) error {
	var named []string
	for _, c := range conflicts[:min(len(conflicts), namedConflicts)] {
		named = append(named, fmt.Sprintf("%s is set by %q", c.field, c.manager))
	}
	if more := len(conflicts) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("cannot apply %s: %s; remove the fields from the manifest, have their managers give them up, or set onConflict: Force "+
		"or the annotation %s: %s", ref, strings.Join(named, ", "), managedresource.SSAAnnotation, managedresource.SSAOverride)
	return &kit.Failure{Kind: kit.Retry, Reason: reasonConflict, Err: &failure{text: text, cause: cause}}
}
