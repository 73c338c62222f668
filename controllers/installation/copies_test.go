// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
)

func TestACopyStaysWhileASubinstallationHasTheJobThatImportsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		job   string
		stays bool
	}{
		"it has the running job":      {job: "job", stays: true},
		"it has the job of before":    {job: "former"},
		"the job has no children yet": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{inst: fixture.Working("root", "1", "job"), children: map[string]*v1alpha1.Installation{}}
			if tc.job != "" {
				child := &v1alpha1.Installation{}
				child.Status.JobID = tc.job
				s.children["child"] = child
			}
			former := &v1alpha1.DataObject{ObjectMeta: copyMeta(s, "former", "former", nil, "")}
			r := with(t, former)
			require.NoError(t, r.retireFormerCopies(t.Context(), s, map[string]client.Object{}))
			err := r.Get(t.Context(), client.ObjectKeyFromObject(former), &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{}})
			assert.Equal(t, tc.stays, err == nil)
		})
	}
}
