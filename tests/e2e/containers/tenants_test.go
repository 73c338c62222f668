// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// abuses are what a hostile tenant's containers do until they are deleted, each in as many Pods as said.
var abuses = map[string]struct {
	pods   int
	script string
}{
	"hang":                         {8, `trap '' TERM; while :; do sleep 1; done`},
	"print without end":            {2, `while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done`},
	"leave a large state":          {2, `dd if=/dev/urandom of="$STATE_PATH/large" bs=1048576 count=64`},
	"leave many files":             {2, `i=0; while [ $i -lt 20000 ]; do : >"$STATE_PATH/$i"; i=$((i+1)); done`},
	"leave large exports":          {2, `dd if=/dev/zero of="$EXPORTS_PATH" bs=1048576 count=64`},
	"leave exports elsewhere":      {2, `rm -f "$EXPORTS_PATH"; ln -s /proc/self/environ "$EXPORTS_PATH"`},
	"end at once, again and again": {6, `exit 1`},
}

// mostMemory is how many bytes the container deployer may have taken.
const mostMemory = 400 << 20

// Whatever the containers of one tenant do, those of another run and export, the deployer stays small, and nothing is held when the items are deleted.
func TestContainersOfOneTenantLeaveOthersAlone(t *testing.T) {
	for name, abuse := range abuses {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			hostile := &scene{landscape.NewScene(t)}
			image := s.shell()
			var items []client.Object
			for i := range abuse.pods {
				items = append(items, hostile.item(fmt.Sprintf("abuse-%d", i), image, nil, "sh", "-c", `[ "$OPERATION" = DELETE ] && exit; `+abuse.script))
			}

			mine := s.item("mine", image, nil, "sh", "-c", `echo '{"word": "hello"}' >"$EXPORTS_PATH"`)

			assert.Equal(t, object{"word": "hello"}, s.exported(mine))
			for _, item := range items {
				hostile.Delete(item)
				hostile.Annotate(item, v1alpha1.OperationAnnotation, v1alpha1.OperationTestReconcile)
			}
			hostile.Gone(items...)
			left := &corev1.PodList{}
			assert.NoError(t, s.Client().List(s.Ctx, left, client.InNamespace(landscape.ContainerPods)))
			for _, pod := range left.Items {
				assert.NotContains(t, pod.Name, hostile.Namespace)
			}
			deployer := landscape.Shared(t).Processes[landscape.ContainerDeployer]
			assert.True(t, deployer.Running())
			assert.LessOrEqual(t, deployer.PeakMemory(), int64(mostMemory))
		})
	}
}
