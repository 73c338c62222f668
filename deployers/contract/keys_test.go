// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// typed knows the keys of its configurations.
type typed struct{ scripted }

func (*typed) Configuration(*v1alpha1.DeployItem) any {
	return &struct {
		Image string `json:"image"`
	}{}
}

func TestUnknownKeysOfConfigurations(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		strict bool
		want   string
	}{
		"known":                   {`{"image": "a"}`, true, ""},
		"near":                    {`{"imgae": "a"}`, false, "DeployItem ns/web: spec.config: imgae: the key is unknown; did you mean image?"},
		"without effect":          {`{"image": "a", "colour": 1}`, false, ""},
		"refused by the operator": {`{"image": "a", "colour": 1}`, true, "DeployItem ns/web: spec.config: colour: the key is unknown and has no effect; check its spelling or remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
			item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(test.config)}
			err := (&reconciler{typed: &typed{}, options: &Options{RefuseUnknownKeys: test.strict}}).refuseKeys(item)
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, test.want)
			assert.Equal(t, protocol.Stalled, protocol.AsFailure("", err).Kind)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
		})
	}
}
