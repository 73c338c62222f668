// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestE17StateSecretsAreNotRememberedForEver(t *testing.T) {
	r := &Reconciler{}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "1", ResourceVersion: "7"}}
	r.states.Created(made)
	other := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "2", ResourceVersion: "9"}}
	r.seen("ConfigMap", other)
	assert.Positive(t, r.states.Unseen(client.ObjectKeyFromObject(made)), "only Secrets count")
	r.seen("Secret", &metav1.PartialObjectMetadata{ObjectMeta: made.ObjectMeta})
	assert.Zero(t, r.states.Unseen(client.ObjectKeyFromObject(made)))
}
