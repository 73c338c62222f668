// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type level struct {
	Manifest *runtime.RawExtension `json:"manifest,omitempty"`
	Policy   string                `json:"policy,omitempty"`
	Deeper   []level               `json:"deeper,omitempty"`
}

type keyed struct {
	metav1.TypeMeta `json:",inline"`
	Manifests       []level                    `json:"manifests"`
	Settings        map[string]level           `json:"settings"`
	Labels          map[string]string          `json:"labels"`
	Free            map[string]json.RawMessage `json:"free"`
	Checks          struct {
		Timeout metav1.Duration `json:"timeout"`
	} `json:"checks"`
	Hidden string `json:"-"`
}

func TestKeys(t *testing.T) {
	for name, test := range map[string]struct {
		document string
		want     []Key
	}{
		"all known":                    {`{"kind": "A", "manifests": [{"policy": "keep", "manifest": {"kindd": 1}, "deeper": [{"policy": ""}]}], "checks": {"timeout": "1m"}}`, nil},
		"free names":                   {`{"labels": {"polcy": "a"}, "settings": {"polcy": {"policy": "a"}}, "free": {"x": {"manifets": 1}}}`, nil},
		"a letter less":                {`{"manifets": []}`, []Key{{Path: "manifets", Meant: "manifests"}}},
		"another case":                 {`{"MANIFESTS": []}`, []Key{{Path: "MANIFESTS", Meant: "manifests"}}},
		"two letters":                  {`{"chekcs": {}}`, []Key{{Path: "chekcs", Meant: "checks"}}},
		"in a list":                    {`{"manifests": [{}, {"deeper": [{"polic": 1}]}]}`, []Key{{Path: "manifests[1].deeper[0].polic", Meant: "manifests[1].deeper[0].policy"}}},
		"in a map":                     {`{"settings": {"a": {"polic": 1}}}`, []Key{{Path: "settings.a.polic", Meant: "settings.a.policy"}}},
		"of a level below":             {`{"timeout": "1m"}`, []Key{{Path: "timeout", Meant: "checks.timeout"}}},
		"of a level above":             {`{"checks": {"manifests": []}}`, []Key{{Path: "checks.manifests", Meant: "manifests"}}},
		"near to none":                 {`{"colour": 1}`, []Key{{Path: "colour"}}},
		"too short to be near":         {`{"frog": 1, "kid": 1}`, []Key{{Path: "frog"}, {Path: "kid", Meant: "kind"}}},
		"not for documents":            {`{"hidden": 1}`, []Key{{Path: "hidden"}}},
		"published":                    {`{"jsonSchema": 1}`, []Key{{Path: "jsonSchema", Published: true}}},
		"a wrong type":                 {`{"manifests": {"policy": 1}, "checks": [{"x": 1}]}`, nil},
		"no object":                    {`[{"colour": 1}]`, nil},
		"no JSON":                      {`{"colour": 1`, nil},
		"several, in order of letters": {`{"b": 1, "a": 2}`, []Key{{Path: "a"}, {Path: "b"}}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, Keys([]byte(test.document), &keyed{})) })
	}
}

func TestKeysOfAnotherDocumentAreNear(t *testing.T) {
	found := BesideConfig(Keys([]byte(`{"timeout": 1, "checks": {"colour": 1}, "colour": 1, "kind": 1, "frog": 1}`), &struct {
		Checks struct{} `json:"checks"`
	}{}), struct {
		Kind   string `json:"kind"`
		Colour string `json:"colour"`
	}{})

	assert.Equal(t, []Key{
		{Path: "checks.colour"}, {Path: "colour", Meant: "colour of the deploy item, beside config"}, {Path: "frog"}, {Path: "kind"}, {Path: "timeout"},
	}, found)
}

func TestUnknownKeysSayWhatToDo(t *testing.T) {
	assert.Equal(t, "a.b: the key is unknown and has no effect; check its spelling or remove it; manifets: the key is unknown; did you mean manifests?",
		List([]Key{{Path: "a.b"}, {Path: "manifets", Meant: "manifests"}}))
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"manifests": [{"deeper": [{}]}], "x": null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, key := range Keys(raw, &keyed{}) {
			assert.NotEmpty(t, key.Problem())
		}
	})
}
