// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// killed calls the deployer and loses the outcome, as when the process dies before the status is written.
func (l *life) killed() {
	l.t.Helper()
	_, err := l.deployer.Ensure(l.t.Context(), l.item)
	require.NoError(l.t, err)
	l.die()
}

func TestDeathBeforeTheStatusWrite(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.killed()
	before := l.live("a")

	l.succeed()

	assert.Equal(t, before.GetResourceVersion(), l.live("a").GetResourceVersion(), "nothing is written twice")
	assert.Equal(t, []string{"a"}, l.recorded())
	l.vanish()
	assert.False(t, l.exists("a"))
}

func TestDeathAndThenTheObjectLeavesTheManifests(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.succeed()
	l.configure(manifests("1", "a", "lost"))
	l.killed()
	l.configure(manifests("1", "a"))

	l.succeed()

	assert.False(t, l.exists("lost"))
	assert.True(t, l.exists("a"))
}

func TestDeathInTheFirstJobAndThenDeletion(t *testing.T) {
	for name, prepare := range map[string]func(l *life){
		"with the manifests that were applied": func(*life) {},
		"with other manifests":                 func(l *life) { l.configure(manifests("1", "never")) },
		"with a broken configuration":          func(l *life) { l.configure("manifests: 7") },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLife(t)
			l.configure(manifests("1", "lost"))
			l.killed()
			prepare(l)

			l.vanish()

			assert.False(t, l.exists("lost"))
		})
	}
}

func TestAJobThatSomebodyElseEndedLeavesNothing(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "lost"))
	l.killed()
	status := &l.item.DeployItem.Status
	require.NotEmpty(t, status.JobID)
	status.JobIDFinished = status.JobID

	l.vanish()

	assert.False(t, l.exists("lost"), "its write was on the way when the job was interrupted")
}

func TestDeathDuringDeletion(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "b"))
	l.succeed()
	l.item.DeployItem.Generation++
	_, err := l.deployer.Delete(t.Context(), l.item)
	require.NoError(t, err)
	l.die()

	outcome, err := l.deployer.Delete(t.Context(), l.item)

	require.NoError(t, err)
	assert.True(t, outcome.Done)
	assert.False(t, l.exists("a"))
}

func TestDeathWhileOrphansGo(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a", "b"))
	l.succeed()
	l.configure(manifests("1", "b"))
	l.killed()

	l.succeed()

	assert.False(t, l.exists("a"))
	assert.Equal(t, []string{"b"}, l.recorded())
}

func TestNothingIsSearchedWithoutNeed(t *testing.T) {
	l := newLife(t)
	l.configure(manifests("1", "a"))
	l.succeed()
	l.configure(manifests("2", "a"))
	recorded, err := status(l.item.DeployItem)
	require.NoError(t, err)
	assert.False(t, mayHaveLeftovers(recorded, l.item.DeployItem.Generation-1))
	l.succeed()
}

func TestSameNameInAnotherNamespaceIsLeftAlone(t *testing.T) {
	l, other := newLife(t), newLife(t)
	other.item.DeployItem.Name, other.item.DeployItem.UID, other.item.DeployItem.Namespace = l.item.DeployItem.Name, "another-uid", "elsewhere"
	l.configure(manifests("1", "a"))
	l.killed()
	other.configure(manifests("1", "a"))
	other.succeed()
	l.configure(manifests("1", "b"))

	l.vanish()

	assert.False(t, l.exists("a"))
	assert.True(t, other.exists("a"))
}
