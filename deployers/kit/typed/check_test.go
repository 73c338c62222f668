// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package typed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pod is a Pod as JSON whose container has some more fields.
func pod(fields string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},"spec":{"containers":[{"name":"main"` + fields + `}]}}`
}

func TestQuantitiesThatTakeForEverAreRefused(t *testing.T) {
	const cpu = "spec.containers[0].resources.limits.cpu is a quantity"
	limit := func(value string) string { return pod(`,"resources":{"limits":{"cpu":` + value + `}}`) }
	for name, tt := range map[string]struct{ document, says string }{
		"usual":                        {limit(`"500m"`), ""},
		"with an exponent":             {limit(`"12.5e-9"`), ""},
		"a number":                     {limit(`1e99`), ""},
		"binary":                       {limit(`"16Gi"`), ""},
		"a panic":                      {limit(`"1234567890123456789e2147483639"`), cpu},
		"hours":                        {limit(`"1e1000000000"`), cpu},
		"hours below one":              {limit(`"1E-1000000000"`), cpu},
		"with a sign":                  {limit(`" +1.e+100"`), cpu},
		"a number without end":         {limit(`1e100000000`), cpu},
		"many digits":                  {limit(`"` + strings.Repeat("1", 65) + `"`), cpu},
		"many digits behind the point": {limit(`"0.` + strings.Repeat("0", 65) + `1"`), cpu},
		"a key in another case":        {pod(`,"Resources":{"limits":{"cpu":"1e100"}}`), "spec.containers[0].Resources.limits.cpu is"},
		"a key that is there twice":    {pod(`,"resources":{"limits":{"cpu":"1e100"}},"resources":{"limits":{"cpu":"1"}}`), cpu},
		"a pointer":                    {pod(`,"env":[{"valueFrom":{"resourceFieldRef":{"divisor":"1e100"}}}]`), "spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor is"},
		"in a list":                    {`{"apiVersion":"v1","kind":"PodList","items":[` + limit(`"1e100"`) + `]}`, "items[0]." + cpu},
		"a kind that is there twice":   {strings.Replace(limit(`"1e100"`), `"kind"`, `"kind":"ConfigMap","Kind"`, 1), cpu},
		"no kind":                      {strings.Replace(limit(`"1e100"`), `"kind"`, `"sort"`, 1), "no apiVersion or no kind"},
		"a text that is no quantity":   {pod(`,"image":"1e100","env":[{"name":"COMMIT","value":"12e4567"}]`), ""},
		"a label":                      {`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"commit":"12e4567"}}}`, ""},
		"another type than expected":   {pod(`,"resources":[{"limits":"1e100"}]`), ""},
		"a custom kind":                {strings.Replace(limit(`"1e100"`), `"v1"`, `"example.org/v1"`, 1), ""},
		"a key without end":            {pod(`,"resources":{"limits":{"` + strings.Repeat("x", 1000) + `":"1e100"}}`), strings.Repeat("x", 100)},
		"no JSON":                      {`1e100`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Rules{Quantities: true}.Document([]byte(tt.document))
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.says)
			assert.NotContains(t, err.Error(), "e100", "it shows no value")
			assert.Less(t, len(err.Error()), 2*maxPath)
		})
	}
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
			object := &unstructured.Unstructured{}
			require.NoError(t, object.UnmarshalJSON([]byte(pod(tt.fields))))
			object.SetNamespace("shop")

			err := Rules{Elements: 10}.Object(object)

			if !tt.isMany {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "Pod shop/web: with spec.containers[0].")
			assert.ErrorContains(t, err, fmt.Sprintf("more than %d elements", 10))
		})
	}
}

// TestWhatDoesNotBecomeAGoTypeMayHaveAnyQuantity is about the last revision of a release: what is wrong in it must not keep the next one from curing it.
func TestWhatDoesNotBecomeAGoTypeMayHaveAnyQuantity(t *testing.T) {
	document := pod(`,"resources":{"limits":{"cpu":"1e100"}},"env":[` + strings.Repeat(`{"name":"a"},`, 8) + `{"name":"a"}]`)
	require.NoError(t, Rules{Elements: 10}.Document([]byte(document)))
	assert.Error(t, Rules{Elements: 10, Quantities: true}.Document([]byte(document)))
}
