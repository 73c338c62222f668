// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"
)

func scanned(content []byte, wanted ...string) bool {
	scan := &kindScan{wanted: wanted}
	for i := range content {
		if !scan.accepts(content[i : i+1]) {
			return false
		}
	}
	return !scan.misses()
}

func TestKindScan(t *testing.T) {
	for content, want := range map[string]bool{
		`{"kind":"ConfigMap"}`:                             true,
		"\n\t {\"apiVersion\":\"v1\", \"kind\" : \"List\"": true,
		`{"data":{"kind":"x"},"items":[{"kind":"y"}]}`:     false,
		`{"data":{"kind":"x"},"kind":"y"}`:                 true,
		`{"a":"kind","b":"c"}`:                             false,
		`{"a":["kind"],"b":"\"kind\":\"x"}`:                false,
		`{"kind":""}`:                                      false,
		`{"kind":5,"x":"y"}`:                               false,
		`{"kind":{"a":"b"},"x":"y"}`:                       false,
		`{"kinds":"x"}`:                                    false,
		`["kind"]`:                                         false,
		`<html>`:                                           false,
		``:                                                 false,
	} {
		assert.Equal(t, want, scanned([]byte(content)), content)
	}
}

func TestKindScanForAType(t *testing.T) {
	for content, want := range map[string]bool{
		`{"kind":"Secret","metadata":{"kind":"Pod","name":"a\n"}}`: true,
		`{"kind":"Status"}` + "\n":                                 true,
		`{"kind":"Pod"}`:                                           false,
		`{"Kind":"Secret"}`:                                        false,
		`{"\u006bind":"Pod"}`:                                      false,
		`{"kind":"Secret","\u006bind":"Pod"}`:                      false,
		`{"kind":"Secret","kind":"Pod"}`:                           false,
		`{"kind":"Secret","KIND":"Pod"}`:                           false,
		"{\"kind\":\"Secret\",\"\u212aind\":\"Pod\"}":              false,
		`{"kind":5,"kind":"Pod"}`:                                  false,
		`{"kind":{"kind":"Secret"},"kind":"Pod"}`:                  false,
		`{"kind":"Secret\u0000"}`:                                  false,
		`{"metadata":{}}`:                                          false,
	} {
		assert.Equal(t, want, scanned([]byte(content), "Secret", "Status"), content)
	}
}

// Of every document that the scan accepts, a decoder of Go types reads a kind that is wanted.
func FuzzKindScanForAType(f *testing.F) {
	for _, seed := range []string{`{"kind":"x"}`, `{"kind":"y","Kind":"x"}`, `{"kind":["y"],"kind":"x"}`, "{\"\u212aind\":\"y\",\"kind\":\"x\"}", `{"a":"\\","kind":"x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		if !scanned(content, "x") {
			return
		}
		kind, err := kjson.DefaultMetaFactory.Interpret(content)
		if err == nil && kind.Kind != "x" {
			t.Errorf("a decoder reads kind %q in %q", kind.Kind, content)
		}
	})
}

// Of every JSON object, the scan finds a kind exactly where a decoder does.
func FuzzKindScan(f *testing.F) {
	for _, seed := range []string{`{"kind":"x"}`, `{"a":{"kind":"x"}}`, `{"a":"\\","kind":"x"}`, `{"a":[{},{"kind":"x"}],"kind":"y"}`, `{"kind":5}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		found := scanned(content)
		var object map[string]json.RawMessage
		if json.Unmarshal(content, &object) != nil || object == nil {
			return
		}
		var kind string
		has := json.Unmarshal(object["kind"], &kind) == nil && kind != ""
		if has && !found && !containsEscape(content) {
			t.Errorf("missed the kind of %q", content)
		}
	})
}

func containsEscape(content []byte) bool {
	return slices.Contains(content, '\\')
}
