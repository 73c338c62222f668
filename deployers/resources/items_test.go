// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TestNumbersAreTheSameHoweverTheyAreWritten has a number that a manifest writes with a point, as managed fields do not.
func TestNumbersAreTheSameHoweverTheyAreWritten(t *testing.T) {
	o := ownership{ours: &fieldpath.Set{}, theirs: setOf(t, []byte(`{"v:1":{},"v:2":{}}`)), elsewhere: &fieldpath.Set{}}
	assert.Equal(t, []any{1.0, int64(2)}, o.keepItems([]any{1.0}, []any{int64(1), int64(2)}))
}

// TestAnItemThatLeavesKeysToDefaultsIsNotAnotherOne has ports that are told apart by number and protocol.
func TestAnItemThatLeavesKeysToDefaultsIsNotAnotherOne(t *testing.T) {
	const fields = `{"f:l":{"k:{\"port\":53,\"protocol\":\"TCP\"}":{"f:name":{},"f:port":{},"f:protocol":{}},"k:{\"port\":53,\"protocol\":\"UDP\"}":{"f:name":{},"f:port":{},"f:protocol":{}}}}`
	const udp, tcp = "{name: udp, port: 53, protocol: UDP}", "{name: tcp, port: 53, protocol: TCP}"
	for name, tc := range map[string]struct {
		wanted, live string
		drift        []string
	}{
		"as it is":                   {"[{name: tcp, port: 53}, " + udp + "]", "[" + udp + ", " + tcp + "]", nil},
		"as it is, the other first":  {"[" + udp + ", {name: tcp, port: 53}]", "[" + tcp + ", " + udp + "]", nil},
		"the one with default lost":  {"[{name: tcp, port: 53}, " + udp + "]", "[" + udp + "]", []string{"/l/1"}},
		"the one with protocol lost": {"[{name: tcp, port: 53}, " + udp + "]", "[" + tcp + "]", []string{"/l/0"}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, live := parse(t, "{kind: A, l: "+tc.wanted+"}"), written(t, "{kind: A, l: "+tc.live+"}", map[string]string{FieldManager: fields})
			result := parse(t, "{kind: A, l: ["+udp+", "+tcp+"]}")
			assert.Equal(t, tc.drift, differingFields(wanted, live, result))
			next, _, err := unstructured.NestedSlice(corrected(wanted, live).Object, "l")
			require.NoError(t, err)
			assert.Len(t, next, 2)
		})
	}
}

// TestAnItemOfOthersBesideOneWithDefaultsIsKept has a port that somebody else has added to one of the same number.
func TestAnItemOfOthersBesideOneWithDefaultsIsKept(t *testing.T) {
	fields := func(protocol string) string {
		return `{"f:l":{"k:{\"port\":53,\"protocol\":\"` + protocol + `\"}":{"f:name":{},"f:port":{},"f:protocol":{}}}}`
	}
	next := parse(t, "{kind: A, l: [{name: new, port: 53}]}")
	live := written(t, "{kind: A, l: [{name: udp, port: 53, protocol: UDP}, {name: tcp, port: 53, protocol: TCP}]}",
		map[string]string{FieldManager: fields("TCP"), "other": fields("UDP")})
	keepOfOthers(next, live)
	kept, _, err := unstructured.NestedSlice(next.Object, "l")
	require.NoError(t, err)
	assert.Equal(t, []any{
		map[string]any{"name": "udp", "port": int64(53), "protocol": "UDP"}, map[string]any{"name": "new", "port": int64(53)},
	}, kept)
}
