// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// counted is a value that counts how often it is written, for a comparison or the key of an item.
type counted struct {
	value   int
	written *int
}

func (c counted) MarshalJSON() ([]byte, error) {
	*c.written++
	return []byte(strconv.Itoa(c.value)), nil
}

// itemsOf returns two lists that have half of their items in common, and what is owned of the second.
func itemsOf(many int, keyed bool, written *int) (wanted, live []any, o ownership) {
	item := func(i int) any {
		if keyed {
			return map[string]any{"id": counted{i, written}}
		}
		return counted{i, written}
	}
	for i := range many {
		wanted, live = append(wanted, item(i)), append(live, item(i+many/2))
	}
	o.theirs = fieldSet{"v:1": map[string]any{}}
	if keyed {
		o.theirs = fieldSet{`k:{"id":1}`: map[string]any{}}
	}
	return wanted, live, o
}

// TestNoItemIsComparedWithEveryOther counts how often the items of two lists are looked at.
func TestNoItemIsComparedWithEveryOther(t *testing.T) {
	const many = 200
	for name, keyed := range map[string]bool{"values": false, "items with keys": true} {
		t.Run(name, func(t *testing.T) {
			written := 0
			wanted, live, o := itemsOf(many, keyed, &written)
			assert.Len(t, o.keepItems(wanted, live), many*3/2)
			assert.LessOrEqual(t, written, 10*many, "kept")

			written = 0
			wanted, live, o = itemsOf(many, keyed, &written)
			var found differing
			compareFields(&place{name: "l"}, wanted, live, wanted, o, &found)
			assert.Len(t, found.pointers, many/2)
			assert.LessOrEqual(t, written, 10*many, "compared")
		})
	}
}

// TestListsWithoutEndAreCompared has as many values as an object of a target may have: each with every other one, this does not end.
func TestListsWithoutEndAreCompared(t *testing.T) {
	var wanted, live []any
	for i := range 100_000 {
		wanted = append(wanted, int64(i))
	}
	for i := range 200_000 {
		live = append(live, int64(i+1_000_000))
	}
	o := ownership{theirs: fieldSet{"v:1": map[string]any{}}}
	next := o.keepItems(wanted, live)
	require.Len(t, next, len(wanted)+len(live))
	var found differing
	compareFields(&place{name: "l"}, wanted, live, next, o, &found)
	assert.InDelta(t, maxPointers, found.size, 10)
}

func TestItemsThatAreWantedTwiceAreComparedOnce(t *testing.T) {
	written := 0
	inside := counted{1, &written}
	wanted := slices.Repeat([]any{map[string]any{"id": "a", "l": []any{int64(1)}}}, 50)
	live := []any{map[string]any{"id": "a", "l": slices.Repeat([]any{inside}, 100)}}
	key := `k:{"id":"a"}`
	o := ownership{theirs: fieldSet{key: map[string]any{"f:l": map[string]any{"v:1": map[string]any{}}}}}
	var found differing
	compareFields(&place{name: "l"}, wanted, live, live, o, &found)
	assert.Empty(t, found.pointers)
	assert.LessOrEqual(t, written, 10*100)
}

// TestListsWithKeysWithoutEndAreOneValue has items that leave out other ones of their keys each.
func TestListsWithKeysWithoutEndAreOneValue(t *testing.T) {
	names := func(count int) string {
		var fields []string
		for i := range count {
			fields = append(fields, fmt.Sprintf(`\"n%02d\":1`, i))
		}
		return `{"f:l":{"k:{` + strings.Join(fields, ",") + `}":{}}}`
	}
	item := func(i int) string { return fmt.Sprintf("{n%02d: 1}", i) }
	for name, tc := range map[string]struct {
		fields, items int
		isOne         bool
	}{
		"few fields, few shapes":   {3, 3, false},
		"as many as there may be":  {maxKeyFields, maxShapes, false},
		"more fields":              {maxKeyFields + 1, 1, true},
		"more shapes of the items": {maxKeyFields, maxShapes + 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			var items []string
			for i := range min(tc.items, tc.fields) {
				items = append(items, item(i))
			}
			if tc.items > tc.fields {
				items = append(items, "{n00: 1, n01: 1}")
			}
			next := parse(t, "{kind: A, l: ["+strings.Join(items, ",")+"]}")
			live := written(t, "{kind: A, l: [{n00: 2}]}", map[string]string{Manager: "{}", "other": names(tc.fields)})
			keepOfOthers(next, live)
			kept, _, err := unstructured.NestedSlice(next.Object, "l")
			require.NoError(t, err)
			assert.Equal(t, tc.isOne, len(kept) == len(items))
		})
	}
}

// TestNumbersAreTheSameHoweverTheyAreWritten has a number that a manifest writes with a point, as managed fields do not.
func TestNumbersAreTheSameHoweverTheyAreWritten(t *testing.T) {
	o := ownership{theirs: fieldSet{"v:1": map[string]any{}, "v:2": map[string]any{}}}
	assert.Equal(t, []any{1.0, int64(2)}, o.keepItems([]any{1.0}, []any{int64(1), int64(2)}))
}

func TestPardonEndsWithItsContext(t *testing.T) {
	rules, err := CompileRules([]managedresource.IgnoreRule{{Paths: []string{"/a"}}})
	require.NoError(t, err)
	ctx, end := context.WithCancel(t.Context())
	end()
	wanted, live := parse(t, "{kind: A, a: 1}"), parse(t, "{kind: A, a: 2}")
	require.ErrorIs(t, Pardon(ctx, rules, wanted, live), context.Canceled)
	require.NoError(t, Pardon(t.Context(), rules, wanted, live))
	assert.Equal(t, live, wanted)
}

// TestPointersOfDeepFieldsAreShort has maps below one another, whose names are long, and a field in each that differs.
func TestPointersOfDeepFieldsAreShort(t *testing.T) {
	nested := func(leaf string) *unstructured.Unstructured {
		value := map[string]any{"leaf": leaf}
		for range 200 {
			value = map[string]any{"leaf": leaf, strings.Repeat("n", 5_000): value}
		}
		return &unstructured.Unstructured{Object: value}
	}
	wanted, live := nested("wanted"), nested("live")
	pointers := DifferingFields(wanted, live, wanted)
	assert.Contains(t, pointers, "/leaf")
	size := 0
	for _, pointer := range pointers {
		assert.LessOrEqual(t, len(pointer), maxPointer+len("…"))
		size += len(pointer)
	}
	assert.LessOrEqual(t, size, maxPointers+2*maxPointer)
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
			wanted, live := parse(t, "{kind: A, l: "+tc.wanted+"}"), written(t, "{kind: A, l: "+tc.live+"}", map[string]string{Manager: fields})
			result := parse(t, "{kind: A, l: ["+udp+", "+tcp+"]}")
			assert.Equal(t, tc.drift, DifferingFields(wanted, live, result))
			next, _, err := unstructured.NestedSlice(Corrected(wanted, live).Object, "l")
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
		map[string]string{Manager: fields("TCP"), "other": fields("UDP")})
	keepOfOthers(next, live)
	kept, _, err := unstructured.NestedSlice(next.Object, "l")
	require.NoError(t, err)
	assert.Equal(t, []any{
		map[string]any{"name": "udp", "port": int64(53), "protocol": "UDP"}, map[string]any{"name": "new", "port": int64(53)},
	}, kept)
}
