// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"crypto/x509"
	"encoding/pem"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const lifetime = 90 * 24 * time.Hour

var (
	hosts = []string{"landscaper-webhooks.ls-system.svc", "127.0.0.1"}
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

func renewed(t *testing.T, ring ring, hosts []string, now time.Time) ring {
	t.Helper()
	ring, changed, err := ring.renewed(hosts, lifetime, now)
	require.NoError(t, err)
	require.True(t, changed)
	return ring
}

// requireTrusted checks that a client with the authorities of the ring accepts the current certificate for each host.
func requireTrusted(t *testing.T, ring ring, trusted []byte, now time.Time) {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(trusted))
	current := ring.current(hosts, now)
	require.NotNil(t, current)
	for _, host := range hosts {
		_, err := current.Leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: now})
		require.NoError(t, err, "%s at %s", host, now)
	}
}

func TestFirstGenerationServesAtOnce(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	requireTrusted(t, ring, ring.authorities(), start)
}

func TestGenerationStaysForTwoThirdsOfItsLife(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	_, changed, err := ring.renewed(hosts, lifetime, start.Add(lifetime*2/3-time.Second))
	require.NoError(t, err)
	assert.False(t, changed)
	assert.Len(t, renewed(t, ring, hosts, start.Add(lifetime*2/3)), 2)
}

// TestClientsNeverRefuse walks through two years as a process does. A client that has last read the authorities some minutes ago
// accepts what is served at any moment.
func TestClientsNeverRefuse(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	generations := map[string]bool{}
	for now := start; now.Before(start.Add(2 * 365 * 24 * time.Hour)); {
		known := ring.authorities()
		next := ring.next(hosts, now)
		require.True(t, next.After(now))
		requireTrusted(t, ring, known, next.Add(-time.Second))
		var err error
		ring, _, err = ring.renewed(hosts, lifetime, next)
		require.NoError(t, err)
		requireTrusted(t, ring, known, next)
		generations[string(ring.current(hosts, next).Certificate[0])] = true
		require.LessOrEqual(t, len(ring), 2)
		now = next
	}
	assert.Greater(t, len(generations), 10)
}

func TestSuccessorWaitsUntilClientsKnowIt(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	first := ring.current(hosts, start).Leaf
	second := start.Add(lifetime * 2 / 3)
	ring = renewed(t, ring, hosts, second)
	assert.Equal(t, first, ring.current(hosts, second.Add(longestSettling-time.Second)).Leaf)
	assert.Equal(t, second.Add(longestSettling), ring.next(hosts, second))
	assert.NotEqual(t, first, ring.current(hosts, second.Add(longestSettling)).Leaf)
}

func TestReplicasWithOtherHostsDoNotDisturb(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	ring = renewed(t, ring, []string{"new.example.com"}, start.Add(time.Hour))
	for _, served := range [][]string{hosts, {"new.example.com"}} {
		_, changed, err := ring.renewed(served, lifetime, start.Add(time.Hour))
		require.NoError(t, err)
		assert.False(t, changed, served)
		for _, host := range served {
			assert.NoError(t, ring.current(served, start.Add(time.Hour)).Leaf.VerifyHostname(host))
		}
	}
}

func TestExpiredRingIsReplaced(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	late := start.Add(2 * lifetime)
	assert.Nil(t, ring.current(hosts, late))
	assert.Equal(t, late, ring.next(hosts, late))
	ring = renewed(t, ring, hosts, late)
	assert.Len(t, ring, 1)
	requireTrusted(t, ring, ring.authorities(), late)
}

func TestRingSurvivesTheSecret(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	ring = renewed(t, ring, hosts, start.Add(lifetime*2/3))
	data := ring.encode()
	data["ca.crt"] = []byte("of another program")
	assert.Equal(t, ring, decodeRing(data))
}

func TestBrokenGenerationsAreLeftOut(t *testing.T) {
	one, other := renewed(t, nil, hosts, start), renewed(t, nil, hosts, start)
	for part, broken := range map[string][]byte{
		authoritySuffix: other[0].authority,
		certSuffix:      other[0].certificate,
		keySuffix:       other[0].key,
	} {
		data := one.encode()
		data[prefix+one[0].id+part] = broken
		assert.Empty(t, decodeRing(data), part)
		delete(data, prefix+one[0].id+part)
		assert.Empty(t, decodeRing(data), "without %s", part)
	}
}

func TestServerCertificateIsNoAuthority(t *testing.T) {
	ring := renewed(t, nil, hosts, start)
	leaf := ring.current(hosts, start).Leaf
	assert.False(t, leaf.IsCA)
	assert.Equal(t, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, leaf.ExtKeyUsage)
}

func FuzzDecode(f *testing.F) {
	ring, _, err := ring(nil).renewed(hosts, lifetime, start)
	require.NoError(f, err)
	f.Add(ring[0].authority, ring[0].certificate, ring[0].key)
	f.Add([]byte("-----BEGIN CERTIFICATE-----"), []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, authority, certificate, key []byte) {
		read := decodeRing(map[string][]byte{prefix + "x" + authoritySuffix: authority, prefix + "x" + certSuffix: certificate, prefix + "x" + keySuffix: key})
		for i := range read {
			block, _ := pem.Decode(read[i].authority)
			require.NotNil(t, block)
			_ = read.current(hosts, start)
			_ = read.next(hosts, start)
		}
	})
}
