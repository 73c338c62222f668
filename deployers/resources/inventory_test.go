// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestSettleTellsClustersApart(t *testing.T) {
	b := newBench(t)
	applied := b.apply("", nil, manage(b.configMap("a", "a", "1"))).Managed
	gone := []managedresource.ManagedResourceStatus{managed("manage", b.configMap("gone", "a", "1"))}
	gone[0].Resource.UID = "gone"
	here, err := resources.LocationOf(t.Context(), b.Session)
	require.NoError(t, err)
	require.NotEmpty(t, here.UID)
	for name, test := range map[string]struct {
		recorded managedresource.ClusterReference
		objects  []managedresource.ManagedResourceStatus
		isHere   bool
	}{
		"the same":                             {recorded: here, objects: gone, isHere: true},
		"another Target to the same cluster":   {recorded: managedresource.ClusterReference{Target: "other", UID: here.UID, Address: "x"}, objects: gone, isHere: true},
		"another cluster at the same address":  {recorded: managedresource.ClusterReference{Target: here.Target, UID: "x", Address: here.Address}, objects: applied},
		"no UID, the same address":             {recorded: managedresource.ClusterReference{Target: "other", Address: here.Address}, objects: gone, isHere: true},
		"no UID, another address, object here": {recorded: managedresource.ClusterReference{Target: here.Target, Address: "x"}, objects: applied, isHere: true},
		"no UID, another address, no object":   {recorded: managedresource.ClusterReference{Target: here.Target, Address: "x"}, objects: gone},
		"never reached, the same Target":       {recorded: managedresource.ClusterReference{Target: here.Target}, objects: gone, isHere: true},
		"never reached, another Target":        {recorded: managedresource.ClusterReference{Target: "other"}, objects: gone},
	} {
		t.Run(name, func(t *testing.T) {
			release := managedresource.ReleaseReference{Name: "r", Namespace: "n"}
			inventory := &managedresource.Inventory{Cluster: &test.recorded, Releases: []managedresource.ReleaseReference{release}}

			known, err := resources.Settle(t.Context(), b.Session, inventory, test.objects)

			require.NoError(t, err)
			assert.Equal(t, here, *inventory.Cluster)
			if test.isHere {
				assert.Equal(t, resources.KnownObjects{Recorded: test.objects}, known)
				assert.Empty(t, inventory.Sites)
				assert.Equal(t, []managedresource.ReleaseReference{release}, inventory.Releases)
				return
			}
			assert.Empty(t, known.Recorded)
			assert.Empty(t, inventory.Releases)
			assert.Equal(t, []managedresource.Site{{Cluster: test.recorded, Resources: test.objects, Releases: []managedresource.ReleaseReference{release}}}, inventory.Sites)
		})
	}
}

func TestSettleTakesSitesOfItsClusterBack(t *testing.T) {
	b := newBench(t)
	here, err := resources.LocationOf(t.Context(), b.Session)
	require.NoError(t, err)
	confirmed, attempted := managed("manage", b.configMap("confirmed", "a", "1")), managed("manage", b.configMap("attempted", "a", "1"))
	confirmed.Resource.UID = "u"
	elsewhere := managedresource.Site{Cluster: managedresource.ClusterReference{Target: "other", UID: "x"}, Resources: []managedresource.ManagedResourceStatus{confirmed}}
	inventory := &managedresource.Inventory{Sites: []managedresource.Site{
		{Cluster: managedresource.ClusterReference{Target: "before", UID: here.UID}, Resources: []managedresource.ManagedResourceStatus{confirmed}}, elsewhere,
		{Cluster: managedresource.ClusterReference{Target: here.Target}, Resources: []managedresource.ManagedResourceStatus{attempted}},
	}}

	known, err := resources.Settle(t.Context(), b.Session, inventory, nil)

	require.NoError(t, err)
	assert.Equal(t, []managedresource.ManagedResourceStatus{confirmed}, known.Recorded)
	assert.Equal(t, []managedresource.ManagedResourceStatus{attempted}, known.Attempted)
	assert.Equal(t, []managedresource.Site{elsewhere}, inventory.Sites)
}

func TestKeptObjectsAreNotRecordedElsewhere(t *testing.T) {
	b := newBench(t)
	kept := managed("keep", b.configMap("kept", "a", "1"))
	kept.Resource.UID = "u"
	inventory := &managedresource.Inventory{Cluster: &managedresource.ClusterReference{Target: "other", UID: "x"}}

	_, err := resources.Settle(t.Context(), b.Session, inventory, []managedresource.ManagedResourceStatus{kept})

	require.NoError(t, err)
	assert.Empty(t, inventory.Sites)
}

func TestIdentityWithoutTheRightToReadIt(t *testing.T) {
	b := newBench(t)
	user, err := platform.Shared(t).NewUser("nobody-" + b.namespace)
	require.NoError(t, err)

	identity, err := b.open(user).Identity(t.Context())

	require.NoError(t, err)
	assert.Empty(t, identity.UID)
	assert.NotEmpty(t, identity.Address)
}

func TestAttemptDoesNotGrow(t *testing.T) {
	b := newBench(t)
	inventory := &managedresource.Inventory{}
	objects := resources.Attempted([]resources.Desired{manage(b.configMap("a", "a", "1")), withPolicy("keep", b.configMap("kept", "a", "1")), withPolicy("ignore", b.configMap("i", "a", "1"))}, nil)
	for range 3 {
		resources.Attempt(inventory, managedresource.ClusterReference{Target: "one"}, objects, managedresource.ReleaseReference{Name: "r"})
	}
	require.Len(t, inventory.Sites, 1)
	assert.Len(t, inventory.Sites[0].Resources, 1)
	assert.Len(t, inventory.Sites[0].Releases, 1)
}

func TestD16SweepLooksIntoNamespacesThatMayBeListed(t *testing.T) {
	b := newBench(t)
	b.apply("", nil, manage(b.configMap("lost", "a", "1")))
	for _, object := range []string{
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: own, namespace: %[1]s}, rules: [{apiGroups: [''], resources: [configmaps], verbs: ['*']}]}",
		`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: own, namespace: %[1]s},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: own}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: '%[1]s'}]}`,
	} {
		b.put(b.object(object))
	}
	user, err := platform.Shared(t).NewUser(b.namespace)
	require.NoError(t, err)
	b.Cluster = b.open(user)

	var found []managedresource.ManagedResourceStatus
	require.Eventually(t, func() bool {
		found, err = resources.Sweep(t.Context(), b.Session, b.namespace)
		return err == nil && len(found) == 1
	}, pace.Within(10*time.Second), 100*time.Millisecond)

	assert.Equal(t, "lost", found[0].Resource.Name)
}

// TestObjectsOfEveryLegalNameAreFoundAgain has names that only objects of RBAC may have, and the longest ones.
func TestObjectsOfEveryLegalNameAreFoundAgain(t *testing.T) {
	for _, strategy := range []managedresource.UpdateStrategy{"update", "apply"} {
		t.Run(string(strategy), func(t *testing.T) {
			b := newBench(t)
			var desired []resources.Desired
			for _, name := range []string{
				"a:b", "a__b", "a_", "_:_", "A b", "é", `"a"`, `a\b`, "a?b#c", "a&b=c+d", "~a,b;c", "..a", "$(a)", "<a>", "{{a}}", "a@b!c*d'e", strings.Repeat("n", 300),
			} {
				role := b.object("{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: %[1]s}, rules: []}")
				role.SetName(name)
				desired = append(desired, manage(role))
			}
			applied := b.apply(strategy, nil, desired...)
			raw, err := json.Marshal(applied.Managed)
			require.NoError(t, err)
			var recorded []managedresource.ManagedResourceStatus
			require.NoError(t, json.Unmarshal(raw, &recorded))
			require.Len(t, recorded, len(desired))

			again := b.apply(strategy, recorded, desired...)
			assert.Empty(t, again.Orphans(recorded))
			for _, d := range desired {
				assert.False(t, b.drift(d, resources.DriftOptions{Strategy: strategy}).Missing, d.Object.GetName())
			}
			for range 2 { // the first asks for the deletion, the second sees its end
				_, err = b.Delete(t.Context(), recorded, nil)
				require.NoError(t, err)
			}
			for _, d := range desired {
				assert.False(t, b.exists(d.Object), d.Object.GetName())
			}
		})
	}
}
