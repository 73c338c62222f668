// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestE17StateSecretsAreNotRememberedForEver(t *testing.T) {
	m := &Maker{}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "1", ResourceVersion: "7"}}
	m.states.Created(made)
	other := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "2", ResourceVersion: "9"}}
	m.Seen("ConfigMap", other)
	assert.Positive(t, m.states.Unseen(client.ObjectKeyFromObject(made)), "only Secrets count")
	m.Seen("Secret", &metav1.PartialObjectMetadata{ObjectMeta: made.ObjectMeta})
	assert.Zero(t, m.states.Unseen(client.ObjectKeyFromObject(made)))
}
