// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// TestRecordsOfAListThatExpiresAreReadAnew has a release of three records in pages of one.
func TestRecordsOfAListThatExpiresAreReadAnew(t *testing.T) {
	builder := fake.NewClientBuilder().WithScheme(scheme.Scheme)
	for i := range 3 {
		revision := fmt.Sprint(i + 1)
		builder.WithObjects(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "v" + revision, Labels: map[string]string{
			recordOwner: recordOfHelm, recordName: "r", recordRevision: revision,
		}}})
	}
	api := builder.Build()
	for name, times := range map[string]int{"once": 1, "for ever": -1} {
		t.Run(name, func(t *testing.T) {
			cluster := &target.Cluster{Name: "cluster", Client: &faults.Expiry{Client: api, Times: times}}
			newest, err := newestRecord(t.Context(), cluster, "SecretList", managedresource.ReleaseReference{Namespace: "n", Name: "r"})
			if times < 0 {
				require.ErrorContains(t, err, "cannot find out whether Helm release n/r exists on target cluster")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "3", newest[recordRevision])
		})
	}
}
