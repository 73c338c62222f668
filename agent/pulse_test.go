// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestEachCauseOfAnOutageIsToldOnce has a connection that is cut before the server comes back with another certificate.
func TestEachCauseOfAnOutageIsToldOnce(t *testing.T) {
	cut, foreign := fmt.Errorf("put: %w", io.ErrUnexpectedEOF), fmt.Errorf("put: %w", x509.UnknownAuthorityError{})
	var told []string
	p := &pulse{say: func(_, _, message string) { told = append(told, message) }}
	for _, err := range []error{cut, cut, foreign, cut, foreign} {
		cause, message := explained(err, "renew it")
		p.tell("AgentDisconnected", cause, message)
	}
	assert.Len(t, told, 2)
	assert.Contains(t, told[0], "the landscaper cluster is not reached")
	assert.Contains(t, told[1], "certificate-authority-data")
}

func TestExplainedNamesTheCure(t *testing.T) {
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for name, tc := range map[string]struct {
		err           error
		cause, phrase string
	}{
		"credentials": {apierrors.NewUnauthorized("no"), "credentials", "renew it"},
		"rights":      {apierrors.NewForbidden(leases, "x", nil), "rights", "apply flux/agent-access"},
		"namespace":   {apierrors.NewNotFound(leases, "x"), "namespace", "namespace of the Environment is missing"},
		"way":         {http.ErrServerClosed, "way", "deployments wait until it is"},
	} {
		t.Run(name, func(t *testing.T) {
			cause, message := explained(tc.err, "renew it")
			assert.Equal(t, tc.cause, cause)
			assert.Contains(t, message, tc.phrase)
		})
	}
}
