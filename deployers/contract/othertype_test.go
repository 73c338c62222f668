// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const formerRecord = `{"former":true}`

// retype makes the item one that a deployer of another type has deployed.
func (d *desk) retype() *v1alpha1.DeployItem {
	d.t.Helper()
	d.change(func(item *v1alpha1.DeployItem) {
		item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "former", Name: "former", Version: "v1", Type: "example.com/former"}
		item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(formerRecord)}
	})
	item := d.item()
	item.Generation++
	require.NoError(d.t, d.api.Update(d.t.Context(), item))
	d.writes = nil
	return d.item()
}

// requireRefused checks the end of a job, and that nothing was done for it.
func (d *desk) requireRefused(phase v1alpha1.Phase, cure string) {
	d.t.Helper()
	status := d.item().Status
	require.True(d.t, d.item().Job().IsIdle())
	assert.Equal(d.t, phase, status.Phase)
	require.NotNil(d.t, status.LastError)
	assert.Equal(d.t, "TypeChanged", status.LastError.Reason)
	assert.Contains(d.t, status.LastError.Message, "spec.type was example.com/former before")
	assert.Contains(d.t, status.LastError.Message, cure)
	assert.Equal(d.t, formerRecord, recorded(d.item()))
	assert.Equal(d.t, "example.com/former", status.Deployer.Type)
	assert.Equal(d.t, d.item().Generation, status.ObservedGeneration)
	ensured, erased := d.deployer.calls()
	assert.Zero(d.t, ensured+erased)
	d.requireSteady()
}

func TestAnItemOfAnotherTypeIsLeftToItsDeployer(t *testing.T) {
	for name, tc := range map[string]struct {
		ask    func(*desk)
		writes []string
	}{
		"a job": {func(d *desk) { d.trigger("1") }, []string{"status"}},
		"a job that the other has begun": {func(d *desk) {
			d.trigger("1")
			d.change(func(item *v1alpha1.DeployItem) {
				item.Status.Phase, item.Status.LastReconcileTime = v1alpha1.PhaseProgressing, item.Status.JobIDGenerationTime
			})
		}, []string{"status"}},
		"the test annotation": {func(d *desk) { d.operate(v1alpha1.OperationTestReconcile) }, []string{"status", "patch"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, &scripted{})
			d.retype()
			tc.ask(d)

			d.pass()

			assert.Equal(t, tc.writes, d.writes)
			assert.Empty(t, d.item().Annotations)
			assert.Len(t, d.events.Events, 1)
			d.requireRefused(v1alpha1.PhaseFailed, "set spec.type back, annotate "+v1alpha1.OperationAnnotation+"=test-reconcile to try again. For another type delete the DeployItem")
		})
	}
}

func TestAnItemOfAnotherTypeIsNotUninstalled(t *testing.T) {
	d := newDesk(t, &scripted{})
	require.NoError(t, d.api.Delete(t.Context(), d.retype()))
	d.trigger("1")

	d.pass()

	d.requireRefused(v1alpha1.PhaseDeleteFailed, "to try again, or annotate the DeployItem "+v1alpha1.DeleteWithoutUninstallAnnotation+"=true")
	item := d.item()
	item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
	require.NoError(t, d.api.Update(t.Context(), item))
	d.trigger("2")
	d.pass()
	assert.Nil(t, d.item())
}

// TestADeathWhileATypeIsRefused lets the process die after the first of two writes.
func TestADeathWhileATypeIsRefused(t *testing.T) {
	d := newDesk(t, &scripted{})
	d.retype()
	d.operate(v1alpha1.OperationTestReconcile)
	d.refuse(errDied)
	d.pass()
	require.Equal(t, []string{"status"}, d.writes)
	d.restart()

	for range 3 {
		d.pass()
	}

	assert.Empty(t, d.item().Annotations)
	assert.Len(t, d.writes, 3, "the request is answered once more, and then it is gone")
	d.requireRefused(v1alpha1.PhaseFailed, "set spec.type back")
}

func TestATypeThatIsSetBackGoesOn(t *testing.T) {
	d := newDesk(t, &scripted{})
	d.retype()
	d.trigger("1")
	d.pass()
	d.change(func(item *v1alpha1.DeployItem) { item.Status.Deployer.Type = item.Spec.Type })

	d.trigger("2")
	d.pass()

	assert.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
	ensured, _ := d.deployer.calls()
	assert.Equal(t, 1, ensured)
}

// TestTheClockAsksForNothingOfAnotherType has a hook that wants a job at every look.
func TestTheClockAsksForNothingOfAnotherType(t *testing.T) {
	d := newDesk(t, &scripted{})
	d.retype()
	d.trigger("1")
	d.pass()
	d.repeats()
	d.requireRefused(v1alpha1.PhaseFailed, "set spec.type back")
}
