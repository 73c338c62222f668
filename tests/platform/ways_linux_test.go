// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestBackendsOfAddressesInANode(t *testing.T) {
	const apiServer = "127.0.0.1:20443"
	for wanted, want := range map[string]string{
		serviceAddress + ":443": apiServer,
		nodeAddress + ":25000":  "127.0.0.1:25000",
		"127.0.0.1:25000":       "127.0.0.1:25000",
	} {
		assert.Equal(t, want, backendOf(wanted, apiServer), wanted)
	}
}
