// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
)

// counted is a mismatch that counts how often it is put into words.
type counted struct {
	jsonschema.ErrorKind
	worded *int
}

func (c counted) KeywordPath() []string {
	*c.worded++
	return []string{"rule"}
}

func TestOnlyMismatchesThatAreListedArePutIntoWords(t *testing.T) {
	worded := 0
	root := &jsonschema.ValidationError{}
	for i := range 50 * maxProblems {
		root.Causes = append(root.Causes, &jsonschema.ValidationError{InstanceLocation: []string{fmt.Sprint(i)}, ErrorKind: counted{worded: &worded}})
	}
	assert.Len(t, describe(root).Problems, maxProblems+1)
	assert.Equal(t, maxProblems, worded)
}
