// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestKindsThatAreNotServedAreNamed has sources of Flux, which does not run here.
func TestKindsThatAreNotServedAreNamed(t *testing.T) {
	s := newScene(t)
	absent := object{"kind": "ExternalArtifact", "name": "absent"}
	for name, spec := range map[string]object{
		"component": {"componentDescriptor": object{"sourceRef": absent}, "blueprint": object{"ref": object{"resourceName": "blueprint"}}},
		"blueprint": {"blueprint": object{"sourceRef": absent}},
	} {
		s.install(name, spec)
		failure := s.failed(name)
		assert.Equal(t, "SourceKindNotInstalled", failure.Reason)
		for _, part := range []string{"ExternalArtifact " + s.Namespace + "/absent", "the cluster does not serve this kind"} {
			assert.Contains(t, failure.Message, part)
		}
		s.Delete(s.Installation(name))
		s.Gone(s.Installation(name))
	}
}
