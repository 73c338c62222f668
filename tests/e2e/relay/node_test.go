// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// The program of a Pod on a real kubelet finds what came through the relay.
func TestAPodFindsWhatCameThroughTheRelay(t *testing.T) {
	p := platform.New(t, platform.Options{
		Node: true, ControllerManager: true, Registry: true, LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	s := newSceneOn(t, p)
	landscaper, err := platform.LandscaperImage(s.ctx)
	require.NoError(t, err)
	sidecar, err := p.Registry.PushImage(s.ctx, "landscaper", "test", landscaper)
	require.NoError(t, err)
	shell, err := platform.ShellImage()
	require.NoError(t, err)
	program, err := p.Registry.PushImage(s.ctx, "shell", "1", shell)
	require.NoError(t, err)
	s.startRelay()
	s.account("east", s.tenant)
	s.publish("1.0.0", map[string]string{"blueprint.yaml": "kind: Blueprint", "check.sh": `set -eu
descriptors=$(tr -d ' \n' <"$COMPONENT_DESCRIPTOR_PATH")
for name in example.com/job example.com/base; do
  echo "$descriptors" | grep -q "\"name\":\"$name\""
done
[ "$(cat "$CONTENT_PATH/blueprint.yaml")" = "kind: Blueprint" ]
`})
	config := s.ofJob("1.0.0")
	config["image"], config["command"] = program, []any{"sh", "/data/ls/shared/content/check.sh"}
	item := s.containerOf(s.tenant, "job", config)
	s.startContainers("east", s.tenant, "--sidecar-image="+sidecar)

	s.succeeds(item, s.run(item))
}
