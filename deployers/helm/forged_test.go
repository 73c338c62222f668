// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// forge leaves a record in a namespace of somebody who may write Secrets there: with the labels of the item, a hook, and a ConfigMap that is another's.
// Both are in the namespace of the item.
func (f *fixture) forge() {
	f.Helper()
	forger := f.sibling(f.item.Name)
	forger.item.UID = f.item.UID
	hook := strings.Replace(named("hook"), "{name: hook}", "{name: hook, namespace: "+f.namespace+", annotations: {helm.sh/hook: pre-delete}}", 1)
	prey := strings.Replace(named("prey"), "{name: prey}", "{name: prey, namespace: "+f.namespace+"}", 1)
	forger.configure(config{
		"name": "forged", "namespace": platform.Shared(f.T).Namespace(f.T), "chart": f.chart("1.0.0", map[string]string{"hook": hook, "prey": prey}),
	})
	forger.succeed(f.deployer())
	object := &corev1.ConfigMap{}
	require.NoError(f, f.get("prey", object))
	f.meddle(object, `{"metadata":{"labels":null,"annotations":null}}`)
}

// TestARecordThatIsOnlyFoundGivesNoRights has a release found by labels, which whoever may write Secrets in any namespace of the target can write.
func TestARecordThatIsOnlyFoundGivesNoRights(t *testing.T) {
	content := func(f *fixture) config { return config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})} }
	for name, end := range map[string]func(f *fixture){
		"deletion": func(f *fixture) { f.remove(f.deployer()) },
		"next job": func(f *fixture) { f.succeed(f.deployer()) },
		"without release": func(f *fixture) {
			bare := content(f)
			bare["helmDeployment"] = false
			f.next(bare)
			f.settle(f.deployer().Ensure)
		},
		"process that dies": func(f *fixture) {
			for writes := 1; f.diesAfter(writes); writes++ {
				require.Less(f, writes, 100)
			}
			f.remove(f.deployer())
		},
		"broken configuration": func(f *fixture) {
			f.configure(config{"name": 1})
			f.remove(f.deployer())
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(content(f))
			f.succeed(f.deployer())
			f.forge()
			f.loseRecord()
			require.True(t, contract.HasLostRecord(f.item))

			end(f)

			f.configMap("prey")
			assert.True(t, f.isGone("hook"), "a hook runs with the rights of the Target")
		})
	}
}

// TestARecordThatCannotBeReadIsForAPersonToCure has somebody spoil the record of a release. A deletion waits for the person.
func TestARecordThatCannotBeReadIsForAPersonToCure(t *testing.T) {
	f := newFixture(t)
	wanted := config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})}
	f.configure(wanted)
	f.succeed(f.deployer())
	records := &corev1.SecretList{}
	require.NoError(f, f.cluster.Client.List(f.ctx, records, client.InNamespace(f.namespace), client.MatchingLabels{"owner": "helm"}))
	require.Len(f, records.Items, 1)
	record := &records.Items[0]
	whole := maps.Clone(record.Data)
	record.Data["release"] = []byte("none")
	require.NoError(f, f.cluster.Client.Update(f.ctx, record))

	f.next(wanted)
	_, err := f.ensure(f.deployer())
	require.Error(f, err)
	failure := protocol.AsFailure("", err)
	assert.Equal(f, protocol.Stalled, failure.Kind, "%v", err)
	assert.Equal(f, "RecordUnreadable", failure.Reason)
	assert.ErrorContains(f, err, "is no record of a Helm release that can be read")
	_, err = f.deployer().Delete(f.ctx, f.contractItem())
	require.Error(f, err)
	assert.NotEqual(f, protocol.Stalled, protocol.AsFailure("", err).Kind, "%v", err)

	record.Data = whole
	require.NoError(f, f.cluster.Client.Update(f.ctx, record))
	f.remove(f.deployer())
}

// marksOf are labels and annotations by which an object looks like one of an item without a release, of a release, and of Flux.
func marksOf(item *v1alpha1.DeployItem, release string) (labels, annotations config) {
	labels = config{
		v1alpha1.ManifestDeployItemLabel: item.Name, v1alpha1.HelmDeployItemLabel: item.Name, helm.ManagedByLabel: helm.ManagedByHelm,
		"kustomize.toolkit.fluxcd.io/name": "tenants", "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
	}
	return labels, config{
		resources.OwnerNamespaceAnnotation: item.Namespace, resources.OwnerUIDAnnotation: string(item.UID),
		helm.ReleaseNameAnnotation: release, helm.ReleaseNamespaceAnnotation: item.Namespace,
	}
}

// TestMarksThatAnItemSetsItselfReachNobodyElse has the objects of items marked as those of others, in each way that a user has.
func TestMarksThatAnItemSetsItselfReachNobodyElse(t *testing.T) {
	ways := map[string]func(labels, annotations config) (string, config){
		"chart": func(labels, annotations config) (string, config) {
			raw, _ := json.Marshal(config{"labels": labels, "annotations": annotations})
			return string(raw)[1:], nil // the end of metadata is in it
		},
		"metadata": func(labels, annotations config) (string, config) {
			return "", config{"commonMetadata": config{"labels": labels, "annotations": annotations}}
		},
		"renderers": func(labels, annotations config) (string, config) {
			raw, _ := json.Marshal(config{"apiVersion": "v1", "kind": "ConfigMap", "metadata": config{"name": "any", "labels": labels, "annotations": annotations}})
			return "", config{"postRenderers": []any{patched(config{"patch": string(raw), "target": config{"kind": "ConfigMap"}})}}
		},
	}
	for mode, isRelease := range map[string]bool{"release": true, "objects": false} {
		t.Run(mode, func(t *testing.T) {
			others := newFixture(t)
			bare, release := others.sibling("bare"), others.sibling("release")
			bare.configure(config{"helmDeployment": false, "chart": others.chart("1.0.0", map[string]string{"one": named("one")})})
			bare.settle(others.deployer().Ensure)
			release.configure(config{"name": "prey", "chart": others.chart("1.0.0", map[string]string{"two": named("two")})})
			release.succeed(others.deployer())
			before := map[string]string{"one": others.uidOf("one"), "two": others.uidOf("two")}
			for way, forge := range ways {
				f := others.sibling("by-" + way)
				meta, settings := forge(marksOf(bare.item, "prey"))
				forged := func(names ...string) config {
					templates := map[string]string{}
					for _, name := range names {
						templates[name] = named(name)
						if meta != "" {
							templates[name] = strings.Replace(named(name), "{name: "+name+"}", "{name: "+name+", "+meta, 1)
						}
					}
					content := config{"name": "by-" + way, "helmDeployment": isRelease, "chart": f.chart("1.0.0", templates)}
					maps.Copy(content, settings)
					return content
				}
				f.configure(forged("own-" + way))
				f.settle(f.deployer().Ensure)
				own := &corev1.ConfigMap{}
				require.NoError(t, f.get("own-"+way, own))
				if isRelease {
					assert.True(t, engine.Owns(own, f.namespace, "by-"+way), "%v", own.Annotations)
				} else {
					assert.Equal(t, f.item.Name, own.Labels[v1alpha1.ManifestDeployItemLabel])
					assert.Equal(t, string(f.item.UID), own.Annotations[resources.OwnerUIDAnnotation])
				}

				for _, name := range []string{"one", "two"} {
					f.next(forged("own-"+way, name))
					f.fail(f.deployer())
				}
				f.item.Generation++
				f.settle(f.deployer().Delete)
				assert.Equal(t, before, map[string]string{"one": f.uidOf("one"), "two": f.uidOf("two")}, way)

				f.item.UID = types.UID(uuid.NewString())
				f.next(forged("left-" + way))
				f.settle(f.deployer().Ensure)
			}
			for _, other := range []*fixture{bare, release} {
				other.newJob()
				other.settle(others.deployer().Ensure)
				other.item.Generation++
				other.settle(others.deployer().Delete)
			}
			for way := range ways {
				others.configMap("left-" + way)
			}
			assert.True(t, others.isGone("one") && others.isGone("two"), "others are not kept from what is theirs")
		})
	}
}

// TestALookupOfAChartHasTheRightsOfTheTarget has charts that ask for a Secret which the deployer could read, and the credentials of the Target may not.
func TestALookupOfAChartHasTheRightsOfTheTarget(t *testing.T) {
	for mode, isRelease := range map[string]bool{"release": true, "objects": false} {
		t.Run(mode, func(t *testing.T) {
			f := newFixture(t)
			prey := &corev1.Secret{ObjectMeta: objectMeta(f.platform.Namespace(t), "prey"), StringData: map[string]string{"key": "planted"}}
			require.NoError(t, f.platform.Client().Create(f.ctx, prey))
			text := strings.Replace(named("found"), "\n", "\ndata: {value: {{ (lookup \"v1\" \"Secret\" \""+prey.Namespace+"\" \"prey\").data.key | quote }}}\n", 1)
			content := config{"helmDeployment": isRelease, "chart": f.chart("1.0.0", map[string]string{"found": text})}
			f.configure(content)
			f.settle(f.deployer().Ensure)
			require.Equal(t, base64.StdEncoding.EncodeToString([]byte("planted")), f.configMap("found")["value"], "with the rights for it")
			f.item.Generation++
			f.settle(f.deployer().Delete)

			f.item.Status.ProviderStatus = nil
			restricted, user := f.restricted()
			f.allow(user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets"}, Verbs: []string{"*"}})
			require.Eventually(t, func() bool { // the API server learns of the binding by a watch
				return restricted.Client.List(f.ctx, &corev1.SecretList{}, client.InNamespace(f.namespace)) == nil
			}, time.Minute, 20*time.Millisecond)
			f.cluster = restricted
			f.next(content)
			err := f.fail(f.deployer())
			assert.ErrorContains(t, err, "forbidden")
			assert.NotContains(t, err.Error(), "planted")
			assert.True(t, f.isGone("found"))
		})
	}
}

// TestObjectsOfOthersKeepNoSearchFromEnding has objects with the label of the item whose metadata is more than one answer of a target may have. Names of
// items are easily guessed.
func TestObjectsOfOthersKeepNoSearchFromEnding(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.settle(f.deployer().Ensure)
	elsewhere, bloat := platform.Shared(t).Namespace(t), strings.Repeat("x", 250<<10)
	for i := range 140 {
		other := &corev1.ConfigMap{ObjectMeta: objectMeta(elsewhere, fmt.Sprintf("other-%03d", i))}
		other.Labels, other.Annotations = map[string]string{v1alpha1.ManifestDeployItemLabel: f.item.Name}, map[string]string{"bloat": bloat}
		require.NoError(t, f.platform.Client().Create(f.ctx, other))
	}
	f.loseRecord()
	f.item.Generation++

	f.settle(f.deployer().Delete)

	assert.True(t, f.isGone("a"))
}

func TestLookupsOfAChartEndTogether(t *testing.T) {
	f := newFixture(t)
	f.options.Children = confined.Limits{Answers: 500 * time.Millisecond}
	text := strings.Replace(named("found"), "\n", "\n{{ range until 1000000 }}{{ $x := lookup \"v1\" \"Namespace\" \"\" \"\" }}{{ end }}\n", 1)
	f.configure(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"found": text})})
	err := f.fail(f.deployer())
	assert.ErrorContains(t, err, "longer than 500ms; ask once")
	assert.ErrorContains(t, err, "templates/found.yaml", "the template is named")
}
