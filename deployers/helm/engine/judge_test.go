// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"
)

// judged returns what is wrong with a Pod whose only container has the given fields.
func judged(t *testing.T, j judge, fields string) error {
	t.Helper()
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"main"`+fields+`}]}}`)))
	return j.all(kube.ResourceList{&resource.Info{Object: object, Namespace: "shop", Name: "web"}})
}

func TestQuantitiesThatTakeForEverAreRefused(t *testing.T) {
	const cpu = "Pod shop/web: spec.containers[0].resources.limits.cpu is a quantity"
	limit := func(value string) string { return `,"resources":{"limits":{"cpu":` + value + `}}` }
	for name, tt := range map[string]struct{ fields, says string }{
		"usual":                        {limit(`"500m"`), ""},
		"with an exponent":             {limit(`"12.5e-9"`), ""},
		"a number":                     {limit(`1e99`), ""},
		"binary":                       {limit(`"16Gi"`), ""},
		"a panic":                      {limit(`"1234567890123456789e2147483639"`), cpu},
		"hours":                        {limit(`"1e1000000000"`), cpu},
		"hours below one":              {limit(`"1E-1000000000"`), cpu},
		"with a sign":                  {limit(`" +1.e+100"`), cpu},
		"many digits":                  {limit(`"` + strings.Repeat("1", 65) + `"`), cpu},
		"many digits behind the point": {limit(`"0.` + strings.Repeat("0", 65) + `1"`), cpu},
		"a key in another case":        {`,"Resources":{"limits":{"cpu":"1e100"}}`, "spec.containers[0].Resources.limits.cpu is"},
		"a pointer":                    {`,"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"1e100"}}}]`, "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor is"},
		"a text that is no quantity":   {`,"image":"1e100","env":[{"name":"COMMIT","value":"12e4567"}]`, ""},
		"another type than expected":   {`,"resources":[{"limits":"1e100"}]`, ""},
		"a key without end":            {`,"resources":{"limits":{"` + strings.Repeat("x", 1000) + `":"1e100"}}`, strings.Repeat("x", 100)},
	} {
		t.Run(name, func(t *testing.T) {
			err := judged(t, judge{quantities: true, elements: 10}, tt.fields)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
			assert.NotContains(t, err.Error(), "e100", "it shows no value")
			assert.Less(t, len(err.Error()), 2*maxField)
		})
	}
	require.NoError(t, judged(t, judge{elements: 10}, limit(`"1e100"`)), "what is wrong in the last revision does not keep the next one from curing it")
}

func TestElementsThatAStrategicMergeComparesAreLimited(t *testing.T) {
	some := func(count int, element string) string { return strings.Repeat(element+",", count-1) + element }
	for name, tt := range map[string]struct {
		fields string
		isMany bool
	}{
		"as many as may be":                {`,"env":[` + some(9, `{"name":"a"}`) + `]`, false}, // the container is one
		"one more":                         {`,"env":[` + some(10, `{"name":"a"}`) + `]`, true},
		"in several lists":                 {`,"env":[` + some(5, `{"name":"a"}`) + `],"ports":[` + some(5, `{"containerPort":1}`) + `]`, true},
		"a key in another case":            {`,"ENV":[` + some(10, `{"name":"a"}`) + `]`, true},
		"a list that is replaced as whole": {`,"args":[` + some(100, `"a"`) + `]`, false},
		"a field that there is not":        {`,"else":[` + some(100, `{"name":"a"}`) + `]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := judged(t, judge{elements: 10}, tt.fields)
			if !tt.isMany {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "Pod shop/web: with spec.containers[0].")
		})
	}
}
