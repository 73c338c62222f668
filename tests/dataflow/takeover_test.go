// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// Names that Gardener Landscaper generated.
const (
	formerDatabase = "db-7x2lp"
	formerWeb      = "web-m4q8z"
)

var (
	clusterImport  = object{"name": "cluster", "type": "target", "targetType": clusterType}
	clusterTargets = list{object{"name": "cluster", "target": "cluster"}}
)

// databaseSpec is what the sub-installation with the database has as spec, webSpec the one that imports its address and deploys a chart.
func databaseSpec() object {
	return object{
		"blueprint": inline(object{
			"imports":          append(dataImports("base"), clusterImport),
			"exports":          dataExports("address"),
			"deployExecutions": goTemplate("deployItems:\n" + databaseItem("{import: cluster}", "{{ .imports.base }}") + storeItem("{{ .imports.base }}")),
			"exportExecutions": goTemplate("exports: {address: '{{ .deployitems.store.host }}'}"),
		}),
		"imports": object{"data": refs("base"), "targets": clusterTargets},
		"exports": object{"data": refs("address")},
	}
}

func databaseItem(target, value string) string {
	return configItem("config", target, "database", "'"+value+"'")
}

func storeItem(value string) string { return mockItem("store", "{host: '"+value+".example.com'}") }

func webSpec(chart, suffix string) object {
	return object{
		"blueprint": inline(object{
			"imports":          append(dataImports("address"), clusterImport),
			"deployExecutions": goTemplate("deployItems:\n" + releaseItem("{import: cluster}", chart, "{{ .imports.address }}"+suffix)),
		}),
		"imports": object{"data": refs("address"), "targets": clusterTargets},
		"exports": object{},
	}
}

func releaseItem(target, chart, value string) string {
	return fmt.Sprintf(`- name: release
  type: landscaper.gardener.cloud/helm
  target: %s
  config:
    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    name: web
    namespace: %s
    chart: {archive: {raw: %s}}
    values: {value: '%s'}
`, target, sceneNamespace, chart, value)
}

// shopSpec is the root with both, and a deploy item of its own.
func shopSpec(chart, suffix string) object {
	asTemplate := func(name string, spec object) object {
		template := object{"name": name, "imports": spec["imports"], "exports": spec["exports"]}
		template["blueprint"] = spec["blueprint"].(object)["inline"]
		return template
	}
	return object{
		"blueprint": inline(object{
			"imports":          append(dataImports("base"), clusterImport),
			"exports":          dataExports("url"),
			"subinstallations": list{asTemplate("web", webSpec(chart, suffix)), asTemplate("db", databaseSpec())},
			"deployExecutions": goTemplate("deployItems:\n" + shopItem("{import: cluster}", "{{ .imports.base }}")),
			"exportExecutions": goTemplate("exports: {url: 'https://{{ .dataobjects.address }}'}"),
		}),
		"imports": object{"data": refs("base"), "targets": clusterTargets},
		"exports": object{"data": list{object{"name": "url", "dataRef": "shop-url"}}},
	}
}

func shopItem(target, value string) string { return configItem("own", target, "shop", "'"+value+"'") }

// consumerSpec is a root that imports from the shop.
func consumerSpec() object {
	return object{
		"blueprint": inline(object{
			"imports":          append(dataImports("url"), clusterImport),
			"deployExecutions": goTemplate("deployItems:\n" + consumerItem("{import: cluster}", "{{ .imports.url }}")),
		}),
		"imports": object{"data": list{object{"name": "url", "dataRef": "shop-url"}}, "targets": clusterTargets},
	}
}

func consumerItem(target, value string) string {
	return configItem("own", target, "consumer", "'"+value+"'")
}

// here replaces the stand-in by the namespace.
func (f *formerSystem) here(text string) string {
	return strings.ReplaceAll(text, sceneNamespace, f.namespace)
}

func (f *formerSystem) spec(spec object) object {
	return (&scene{Scene: &landscape.Scene{T: f.t, Namespace: f.namespace}}).here(spec)
}

// named is the reference to a Target in a deploy item of Gardener Landscaper.
func (f *formerSystem) named(scope string) string {
	return fmt.Sprintf("{name: %s, namespace: %s}", storage.DataName(scope, "cluster"), f.namespace)
}

// manifest makes an Execution with one manifest item that has deployed a ConfigMap.
func (f *formerSystem) manifest(owner client.Object, rendered, item, config, value string) {
	f.t.Helper()
	execution := f.execution(owner, rendered, ended(object{"conditions": formerConditions("ReconcileDeployItems")}))
	deployed := f.config(config, item, value)
	f.item(execution, item, rendered, itemEnded("manifest.deployer.landscaper.gardener.cloud", object{"providerStatus": managed(deployed)}))
}

// shop makes the landscape as Gardener Landscaper has left it after its last job.
func (f *formerSystem) shop(chart string) {
	f.t.Helper()
	f.target("cluster")
	f.ours("DataObject", "base", object{"data": "base"})
	reference := func(name string) object { return object{"name": name, "namespace": f.namespace} }
	status := func(more object) object {
		more["importsHash"], more["conditions"] = "0123456789abcdef0123456789abcdef01234567", formerConditions("ValidateImports")
		return ended(more)
	}
	shop := f.root("shop", f.spec(shopSpec(chart, "")), status(object{
		"executionRef": reference("shop"),
		"subInstCache": object{"activeSubs": list{
			object{"specName": "db", "objectName": formerDatabase}, object{"specName": "web", "objectName": formerWeb},
		}},
	}))
	f.manifest(shop, f.here(shopItem(f.named(""), "base")), "shop-own-h2k9x", "shop", "base")
	inShop := storage.InstallationScope("shop")
	f.value(flow{owner: shop, scope: inShop, key: "base", kind: "import"}, "base")
	f.copyOfTarget(flow{owner: shop, scope: inShop, key: "cluster", kind: "import"})
	f.value(flow{owner: shop, key: "shop-url", kind: "export"}, "https://base.example.com")

	db := f.sub(shop, "db", formerDatabase, f.spec(databaseSpec()), status(object{"executionRef": reference(formerDatabase)}))
	inDatabase := storage.InstallationScope(formerDatabase)
	rendered := f.here(databaseItem(f.named(inShop), "base"))
	items := f.execution(db, rendered+storeItem("base"), ended(object{
		"exportRef":       reference(storage.DataName(storage.ExecutionScope(formerDatabase), "")),
		"deployItemCache": object{"activeDIs": list{object{"specName": "config", "objectName": "db-7x2lp-config-v9cwt"}}},
	}))
	f.item(items, "db-7x2lp-config-v9cwt", rendered, itemEnded("manifest.deployer.landscaper.gardener.cloud", object{
		"providerStatus": managed(f.config("database", "db-7x2lp-config-v9cwt", "base")),
	}))
	store := f.item(items, "db-7x2lp-store-5kd8f", storeItem("base"), itemEnded("mock.deployer.landscaper.gardener.cloud", object{
		"exportRef": reference("db-7x2lp-store-5kd8f-export"),
	}))
	f.exportsOfItems(items, store, "store", object{"host": "base.example.com"}, "config")
	f.value(flow{owner: db, scope: inDatabase, key: "base", kind: "import"}, "base")
	f.copyOfTarget(flow{owner: db, scope: inDatabase, key: "cluster", kind: "import"})
	f.value(flow{owner: db, scope: inShop, key: "address", kind: "export"}, "base.example.com")

	web := f.sub(shop, "web", formerWeb, f.spec(webSpec(chart, "")), status(object{"executionRef": reference(formerWeb)}))
	rendered = f.here(releaseItem(f.named(inShop), chart, "base.example.com"))
	f.item(f.execution(web, rendered, ended(object{})), "web-m4q8z-release-tq5xz", rendered, itemEnded("helm.deployer.landscaper.gardener.cloud", object{
		"providerStatus": object{"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderStatus"},
	}))
	f.release("web", "base.example.com")
	inWeb := storage.InstallationScope(formerWeb)
	f.value(flow{owner: web, scope: inWeb, key: "address", kind: "import"}, "base.example.com")
	f.copyOfTarget(flow{owner: web, scope: inWeb, key: "cluster", kind: "import"})

	consumer := f.root("consumer", f.spec(consumerSpec()), status(object{"executionRef": reference("consumer")}))
	f.manifest(consumer, f.here(consumerItem(f.named(""), "https://base.example.com")), "consumer-own-8fbwz", "consumer", "https://base.example.com")
	inConsumer := storage.InstallationScope("consumer")
	f.value(flow{owner: consumer, scope: inConsumer, key: "url", kind: "import"}, "https://base.example.com")
	f.copyOfTarget(flow{owner: consumer, scope: inConsumer, key: "cluster", kind: "import"})
}

// settled waits until our controllers have seen what there is: roots are shown as Ready, and an Installation made after them has run.
func (f *formerSystem) settled(roots ...string) {
	f.t.Helper()
	for _, name := range roots {
		f.installation(name, func(inst *v1alpha1.Installation) bool { return conditions.IsReady(inst) })
	}
	f.ours("Installation", "afterwards", object{
		"metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}},
		"spec":     object{"blueprint": inline(object{"deployExecutions": goTemplate("deployItems:\n" + landscape.MockItem("item", "phase: Succeeded"))})},
	})
	f.installation("afterwards", succeededAfter(""))
	afterwards := &v1alpha1.Installation{}
	afterwards.Name, afterwards.Namespace = "afterwards", f.namespace
	require.NoError(f.t, f.Client().Delete(f.ctx, afterwards))
	require.NoError(f.t, f.AwaitGone(f.ctx, afterwards))
}

// succeededAfter reports whether an Installation has succeeded with another job.
func succeededAfter(job string) func(*v1alpha1.Installation) bool {
	return func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == v1alpha1.PhaseSucceeded && inst.Status.IsIdle() && inst.Status.JobID != job
	}
}

// requireSameObjects checks that every object is still there, as the same object.
func (f *formerSystem) requireSameObjects(before map[string]*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	f.t.Helper()
	after := f.states()
	for name, former := range before {
		require.Contains(f.t, after, name)
		assert.Equal(f.t, former.GetUID(), after[name].GetUID(), name)
	}
	return after
}

// TestE18TakeOver has roots that rest, and in another namespace some in the middle of a job.
func TestE18TakeOver(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*landscape.Patience)
	defer cancel()
	f := newFormerSystem(ctx, t)
	chart := chart(t)
	f.shop(chart)
	before := f.states()
	busy := f.inTheMiddleOfAJob()
	f.takeOver()
	busy.requireJobsEnd()
	f.settled("shop", "consumer")

	after := f.requireSameObjects(before)
	require.ElementsMatch(t, keys(before), keys(after), "nothing is made anew")
	for name, former := range before {
		if strings.HasPrefix(name, "Installation/") || strings.HasPrefix(name, "Execution/") {
			assert.Equal(t, former.GetGeneration(), after[name].GetGeneration(), "%s has the same spec", name)
			continue
		}
		assert.Equal(t, former.GetResourceVersion(), after[name].GetResourceVersion(), "%s is not written", name)
	}
	for _, name := range []string{"shop", "consumer", formerDatabase, formerWeb} {
		inst := f.installation(name, func(*v1alpha1.Installation) bool { return true })
		assert.Equal(t, formerJob, inst.Status.JobID, name)
		assert.Equal(t, formerJob, inst.Status.JobIDFinished, name)
	}
	checker := check.NewChecker(f.Client(), &check.Conditions{NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition}})
	checker.DisableFetch = true
	failures, warnings := checker.Check(ctx, f.installation("shop", func(*v1alpha1.Installation) bool { return true }))
	require.NoError(t, failures)
	require.NoError(t, warnings)

	f.change("shop", shopSpec(chart, "/v2"))
	shop := f.installation("shop", succeededAfter(formerJob))
	after = f.requireSameObjects(without(before, "Secret/sh.helm.release.v1.web.v1"))
	assert.Equal(t, "base.example.com/v2", f.valueOf("web"))
	assert.Equal(t, "base", f.valueOf("database"))
	assert.Contains(t, after, "Secret/sh.helm.release.v1.web.v2", "the release goes on")
	assert.Equal(t, shop.Status.JobID, f.installation(formerWeb, func(*v1alpha1.Installation) bool { return true }).Status.JobIDFinished)
	consumer := f.installation("consumer", func(*v1alpha1.Installation) bool { return true })
	assert.Equal(t, formerJob, consumer.Status.JobID, "whoever imports the same as before does not run")
	for name, object := range before {
		if object.GetKind() == "DataObject" || object.GetKind() == "Target" {
			assert.Equal(t, object.GetGeneration(), after[name].GetGeneration(), "%s has the same content", name)
		}
	}

	for _, root := range []string{"consumer", "shop"} {
		require.NoError(t, f.Client().Delete(ctx, f.installation(root, func(*v1alpha1.Installation) bool { return true })))
	}
	for _, root := range []string{"consumer", "shop"} {
		inst := &v1alpha1.Installation{}
		inst.Name, inst.Namespace = root, f.namespace
		require.NoError(t, f.AwaitGone(ctx, inst))
	}
	for name := range f.states() {
		kind, _, _ := strings.Cut(name, "/")
		assert.NotContains(t, []string{"Installation", "Execution", "DeployItem", "ConfigMap"}, kind, name)
		assert.NotContains(t, name, "sh.helm.release", "the release is uninstalled")
	}
}

// workingSpec is a root with one sub-installation, both with an item of the mock deployer.
func workingSpec() (root, sub object) {
	sub = object{"blueprint": inline(object{"deployExecutions": goTemplate("deployItems:\n" + workingItem)}), "imports": object{}, "exports": object{}}
	template := object{"name": "sub", "blueprint": sub["blueprint"].(object)["inline"]}
	return object{"blueprint": inline(object{"subinstallations": list{template}, "deployExecutions": goTemplate("deployItems:\n" + workingItem)})}, sub
}

var workingItem = landscape.MockItem("item", "phase: Succeeded")

const nextJob = "5d0c3b0e-91ab-4a57-8b77-27d2c2f7a0aa"

// working makes a root in the middle of a job. Gardener Landscaper hands the job to the children in phase ObjectsCreated.
func (f *formerSystem) working(name, phase string, handedOver bool) {
	f.t.Helper()
	rootSpec, subSpec := workingSpec()
	job := func(status object) object {
		if handedOver {
			status["jobID"] = nextJob
		}
		return status
	}
	own := func(owner client.Object) {
		execution := f.execution(owner, workingItem, job(ended(object{})))
		f.item(execution, owner.GetName()+"-item-x2x2x", workingItem, itemEnded("mock.deployer.landscaper.gardener.cloud", object{}))
	}
	root := f.root(name, f.spec(rootSpec), ended(object{
		"phase": phase, "jobID": nextJob, "executionRef": object{"name": name, "namespace": f.namespace},
		"subInstCache": object{"activeSubs": list{object{"specName": "sub", "objectName": name + "-7x2lp"}}},
	}))
	own(root)
	own(f.sub(root, "sub", name+"-7x2lp", f.spec(subSpec), job(ended(object{}))))
}

// deleting makes a root in the middle of its deletion. Gardener Landscaper deletes the children before it hands the job to them.
func (f *formerSystem) deleting(name, phase string, childrenToo, handedOver bool) {
	f.t.Helper()
	f.working(name, phase, handedOver)
	objects := []string{"Installation/" + name}
	if childrenToo {
		objects = append(objects, "Execution/"+name, "Installation/"+name+"-7x2lp")
	}
	states := f.states()
	for _, object := range objects {
		require.NoError(f.t, f.Client().Delete(f.ctx, states[object]))
	}
}

// busySystem is another namespace of the former system, with roots in the middle of jobs.
type busySystem struct {
	*formerSystem
	// before are the objects that stay.
	before map[string]*unstructured.Unstructured
}

// handedOver says of each phase of a job whether Gardener Landscaper has handed the job to the children.
var handedOver = map[string]bool{"Init": false, "CleanupOrphaned": false, "ObjectsCreated": false, "Progressing": true, "Completing": true}

func (f *formerSystem) inTheMiddleOfAJob() *busySystem {
	f.t.Helper()
	beside := *f
	beside.namespace += "-busy"
	busy := &busySystem{formerSystem: &beside}
	busy.make("v1", "Namespace", busy.namespace, object{})
	for phase, isHandedOver := range handedOver {
		busy.working(strings.ToLower(phase), phase, isHandedOver)
	}
	busy.before = busy.states()
	busy.deleting("begun", "InitDelete", false, false)
	busy.deleting("triggered", "TriggerDelete", true, false)
	busy.deleting("running", "Deleting", true, true)
	return busy
}

// requireJobsEnd waits until the jobs and deletions have ended, with the children that they had.
func (f *busySystem) requireJobsEnd() {
	f.t.Helper()
	for phase := range handedOver {
		inst := f.installation(strings.ToLower(phase), succeededAfter(formerJob))
		assert.Equal(f.t, nextJob, inst.Status.JobIDFinished, "the running job ends")
		sub := f.installation(strings.ToLower(phase)+"-7x2lp", func(*v1alpha1.Installation) bool { return true })
		assert.Equal(f.t, nextJob, sub.Status.JobIDFinished)
	}
	f.requireSameObjects(f.before)
	for _, name := range []string{"begun", "triggered", "running"} {
		inst := &v1alpha1.Installation{}
		inst.Name, inst.Namespace = name, f.namespace
		require.NoError(f.t, f.AwaitGone(f.ctx, inst), name)
	}
}

// change replaces the spec of an Installation and asks for a job, as users of Gardener Landscaper do.
func (f *formerSystem) change(name string, spec object) {
	f.t.Helper()
	inst := &unstructured.Unstructured{}
	inst.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	require.NoError(f.t, f.Client().Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, inst))
	inst.Object["spec"] = f.spec(spec)
	annotations := inst.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.OperationAnnotation] = v1alpha1.OperationReconcile
	inst.SetAnnotations(annotations)
	require.NoError(f.t, f.Client().Update(f.ctx, inst))
}

// without returns a map without some keys.
func without[V any](all map[string]V, keys ...string) map[string]V {
	rest := map[string]V{}
	for key, value := range all {
		rest[key] = value
	}
	for _, key := range keys {
		delete(rest, key)
	}
	return rest
}
