// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installed_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

const (
	// busy is the namespace of the Installations that change without a pause, and busyCount how many there are.
	busy      = "busy"
	busyCount = 10
)

// busyTarget leads to the own cluster. busyInstallation makes a ConfigMap there, of its number and a text.
const (
	busyTarget = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata: {name: cluster, namespace: busy}
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  secretRef: {name: cluster, key: kubeconfig}
`
	busyInstallation = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: unit-%[1]d
  namespace: busy
  annotations: {landscaper.gardener.cloud/reconcile-if-changed: "true"}
spec:
  imports: {targets: [{name: cluster, target: cluster}]}
  blueprint:
    inline:
      filesystem:
        blueprint.yaml: |
          apiVersion: landscaper.gardener.cloud/v1alpha1
          kind: Blueprint
          imports:
          - {name: cluster, type: target, targetType: landscaper.gardener.cloud/kubernetes-cluster}
          deployExecutions:
          - name: default
            type: GoTemplate
            template: |
              deployItems:
              - name: unit
                type: landscaper.gardener.cloud/kubernetes-manifest
                target: {import: cluster}
                config:
                  apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
                  kind: ProviderConfiguration
                  manifests:
                  - policy: manage
                    manifest:
                      apiVersion: v1
                      kind: ConfigMap
                      metadata: {name: unit-%[1]d, namespace: busy}
                      data: {text: "%[2]s"}
---
`
)

// load changes Installations round by round; a round ends when all have been deployed anew.
type load struct {
	*cluster
	rounds int
	// born are the ConfigMaps of the first round.
	born map[string]types.UID
}

// newLoad makes the Installations and waits until they are deployed.
func newLoad(c *cluster) *load {
	c.Helper()
	kubeconfig, err := sample.Kubeconfig(c.Cluster, busy)
	require.NoError(c, err)
	require.NoError(c, c.Apply(c.ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: busy}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: busy}, Data: map[string][]byte{"kubeconfig": kubeconfig}},
	))
	require.NoError(c, c.ApplyYAML(c.ctx, busyTarget))
	l := &load{cluster: c}
	require.NoError(c, l.next())
	l.born = l.configMaps()
	require.Len(c, l.born, busyCount)
	return l
}

// next changes every Installation and waits until all are deployed. It fails with the first job that does.
func (l *load) next() error {
	l.rounds++
	var changed strings.Builder
	for i := range busyCount {
		fmt.Fprintf(&changed, busyInstallation, i, strconv.Itoa(l.rounds))
	}
	if err := l.ApplyYAML(l.ctx, changed.String()); err != nil {
		return err
	}
	for i := range busyCount {
		one := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "unit-" + strconv.Itoa(i), Namespace: busy}}
		ended := func() bool {
			s := one.Status
			return s.ObservedGeneration == one.Generation && s.JobID == s.JobIDFinished && s.Phase.IsFinal()
		}
		if err := l.Await(l.ctx, one, ended); err != nil {
			return err
		}
		if one.Status.Phase != v1alpha1.PhaseSucceeded {
			return fmt.Errorf("round %d: Installation %s is %s: %+v", l.rounds, one.Name, one.Status.Phase, one.Status.LastError)
		}
	}
	return nil
}

// during goes on with rounds until act is done, and for one round more.
func (l *load) during(act func()) {
	l.Helper()
	before, stop, ended := l.rounds, make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := l.next(); err != nil {
				ended <- err
				return
			}
			select {
			case <-stop:
				ended <- l.next()
				return
			default:
			}
		}
	}()
	act()
	close(stop)
	require.NoError(l, <-ended, "no job fails")
	l.Logf("%d rounds of %d Installations meanwhile", l.rounds-before, busyCount)
	assert.Equal(l, l.born, l.configMaps(), "nothing is made anew")
}

// configMaps returns the UIDs of what is deployed, which has to have the text of the last round.
func (l *load) configMaps() map[string]types.UID {
	l.Helper()
	list := &corev1.ConfigMapList{}
	require.NoError(l, l.Client().List(l.ctx, list, client.InNamespace(busy)))
	found := map[string]types.UID{}
	for _, one := range list.Items {
		if strings.HasPrefix(one.Name, "unit-") {
			assert.Equal(l, strconv.Itoa(l.rounds), one.Data["text"], one.Name)
			found[one.Name] = one.UID
		}
	}
	return found
}

// remove deletes all Installations and waits until they and what they deployed are gone.
func (l *load) remove() {
	l.Helper()
	require.NoError(l, l.Client().DeleteAllOf(l.ctx, &v1alpha1.Installation{}, client.InNamespace(busy)))
	for i := range busyCount {
		require.NoError(l, l.AwaitGone(l.ctx, &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "unit-" + strconv.Itoa(i), Namespace: busy}}))
	}
	assert.Empty(l, l.configMaps())
}
