// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestF07EventsTellRevisionAndJob(t *testing.T) {
	const revision, token = "landscaper.gardener.cloud/revision", "landscaper.gardener.cloud/token"
	for name, tc := range map[string]struct {
		status v1alpha1.InstallationStatus
		want   map[string]string
	}{
		"before the first job": {want: map[string]string{}},
		"without source":       {v1alpha1.InstallationStatus{JobStatus: v1alpha1.JobStatus{JobIDFinished: "a"}}, map[string]string{token: "a"}},
		"with source": {
			v1alpha1.InstallationStatus{JobStatus: v1alpha1.JobStatus{JobIDFinished: "b"}, Sources: []v1alpha1.SourceStatus{{Revision: "main@sha1:1"}}},
			map[string]string{token: "b", revision: "main@sha1:1"},
		},
		"with another job queued": {
			v1alpha1.InstallationStatus{JobStatus: v1alpha1.JobStatus{JobID: "c", JobIDFinished: "b"}}, map[string]string{token: "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, EventMetadata(&v1alpha1.Installation{Status: tc.status}))
		})
	}
}
