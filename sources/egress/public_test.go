// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRequirePublic(t *testing.T) {
	for address, public := range map[string]bool{
		"93.184.216.34:443": true, "[2606:2800:220:1::1]:443": true,
		"127.0.0.1:80": false, "127.1.2.3:80": false, "10.0.0.1:443": false, "172.16.0.1:443": false, "192.168.1.1:443": false,
		"169.254.169.254:80": false, "0.0.0.0:80": false, "100.100.100.200:80": false, "198.18.0.1:80": false, "224.0.0.1:80": false,
		"255.255.255.255:80": false, "[::1]:80": false, "[::]:80": false, "[fe80::1]:80": false, "[fd00::1]:80": false, "[ff02::1]:80": false,
		"[64:ff9b::a00:1]:80": false, "[2002:a00:1::]:80": false, "[::ffff:127.0.0.1]:80": false, "example.org:80": false,
	} {
		t.Run(address, func(t *testing.T) {
			if err := RequirePublic("tcp", address, nil); public {
				assert.NoError(t, err)
			} else {
				assert.ErrorIs(t, err, ErrPrivate)
			}
		})
	}
}

func TestM05MetadataServicesAreRefusedInAnyCase(t *testing.T) {
	for _, publicOnly := range []bool{false, true} {
		for _, address := range []string{
			"169.254.169.254:80", "168.63.129.16:80", "168.63.129.16:32526", "[::ffff:168.63.129.16]:80", "169.254.170.23:80",
			"100.100.100.200:80", "192.0.0.192:80", "[fd00:ec2::254]:80",
		} {
			assert.ErrorIs(t, Control(publicOnly)("tcp", address, nil), ErrPrivate, address)
		}
		assert.NoError(t, Control(publicOnly)("tcp", "93.184.216.34:443", nil))
		assert.Equal(t, publicOnly, Control(publicOnly)("tcp", "10.0.0.1:443", nil) != nil)
	}
}
