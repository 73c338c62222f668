// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// outage is something that breaks for a while.
type outage struct {
	name string
	// ofTarget says that only what is deployed notices.
	ofTarget bool
	// begin breaks it and returns what mends it.
	begin func(p *play) (mend func())
}

var everyOutage = []outage{
	fault("quota of sub-installations", landscape.Fault{Resource: landscape.Installations, Broken: landscape.Quota}),
	fault("quota of executions", landscape.Fault{Resource: landscape.Executions, Broken: landscape.Quota}),
	fault("quota of items", landscape.Fault{Resource: landscape.DeployItems, Broken: landscape.Quota}),
	fault("quota of data", landscape.Fault{Resource: landscape.DataObjects, Broken: landscape.Quota}),
	fault("quota in the target", landscape.Fault{Resource: landscape.ConfigMaps, Broken: landscape.Quota}),
	fault("dead webhook of executions", landscape.Fault{Resource: landscape.Executions, Broken: landscape.DeadWebhook}),
	fault("dead webhook of items", landscape.Fault{Resource: landscape.DeployItems, Broken: landscape.DeadWebhook}),
	fault("dead webhook of data", landscape.Fault{Resource: landscape.DataObjects, Broken: landscape.DeadWebhook}),
	fault("dead webhook of the target", landscape.Fault{Resource: landscape.ConfigMaps, Broken: landscape.DeadWebhook}),
	fault("policy against executions", landscape.Fault{Resource: landscape.Executions, Broken: landscape.Policy}),
	fault("policy against items", landscape.Fault{Resource: landscape.DeployItems, Broken: landscape.Policy}),
	fault("policy against data", landscape.Fault{Resource: landscape.DataObjects, Broken: landscape.Policy}),
	fault("policy in the target", landscape.Fault{Resource: landscape.ConfigMaps, Broken: landscape.Policy}),
	{"closed API of the target", true, func(p *play) func() {
		p.door.Close()
		return func() { require.NoError(p.T, p.door.Open()) }
	}},
	{"revoked rights on the target", true, func(p *play) func() { return p.revoke() }},
}

func fault(name string, f landscape.Fault) outage {
	return outage{name, f.Resource == landscape.ConfigMaps, func(p *play) func() { return f.Begin(p.Scene) }}
}

// outage breaks something, changes or deletes roots meanwhile, checks that what failed is shown and then nothing is written any more, and
// mends it. What failed is asked for again, as a person would do.
func (p *play) outage() {
	what, begin := pick(p.g, everyOutage), p.record.now()
	if len(p.world.roots) == 0 {
		return
	}
	p.logf("%s", what.name)
	if p.g.chance(4) {
		p.deleteIn(what)
	} else {
		p.changeIn(what)
	}
	p.storms = append(p.storms, [2]int64{begin, p.record.now()})
}

func (p *play) deleteIn(what outage) {
	mend := what.begin(p)
	names := p.deleteAll(p.world.downstream(pick(p.g, p.world.roots)))
	p.endure()
	mend()
	p.askAgain()
	p.awaitGone(names)
	p.settle(nil, nil)
}

func (p *play) changeIn(what outage) {
	before := map[string]map[string]bool{}
	for _, r := range p.world.roots {
		before[r.name] = p.world.upstream(r)
	}
	mend := what.begin(p)
	count := map[string]int{}
	for range 1 + p.g.IntN(mostInOutage) {
		r := pick(p.g, p.world.roots)
		original := document(r.spec())
		if what.ofTarget {
			p.withDeployed(r).salt++
		}
		p.logf("%s has %s", r.name, p.alter(r))
		count[r.name]++
		if document(r.spec()) == original { // the item that it got was taken from it again
			p.withDeployed(r).salt++
			p.plant(r)
			count[r.name]++
		}
	}
	p.endure()
	mend()
	for name, asked := range p.askAgain() {
		count[name] += asked
	}
	touched := map[string]bool{}
	for name := range count {
		touched[name] = true
	}
	p.settle(p.world.predict(touched), p.bounds(count, before))
}

const mostInOutage = 3

// withDeployed returns a random item of a root that deploys something. The root gets one if it has none.
func (p *play) withDeployed(r *root) *item {
	if items := r.deployed(); len(items) > 0 {
		return pick(p.g, items)
	}
	it := p.g.mockItem(nil)
	it.namespace = p.Namespace
	r.items = append(r.items, it)
	return it
}

// endure waits until nothing is done any more, and checks that something says why where work is left.
func (p *play) endure() {
	p.T.Helper()
	p.kill()
	require.Eventually(p.T, func() bool { return p.isIdle() || p.isShown() }, patience(), landscape.Tick, "nothing shows what is wrong")
	p.stand()
	// A machine under load may pause a worker for longer than it takes to stand; a hang lasts.
	require.Eventually(p.T, func() bool { return p.isIdle() || p.isShown() }, patience(), landscape.Tick, "work is left, and nothing shows why")
}

// stand waits until resource versions stand still.
func (p *play) stand() {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience())
	defer cancel()
	require.NoError(p.T, p.Standstill.Await(ctx, p.Namespace, *quiet))
}

func (p *play) isShown() bool { return slices.ContainsFunc(p.Workers(), landscape.IsTrouble) }

func (p *play) isIdle() bool { return !slices.ContainsFunc(p.livingRoots(), isAtWork) }

// livingRoots lists the roots as the API server has them.
func (p *play) livingRoots() []v1alpha1.Installation {
	p.T.Helper()
	list := &v1alpha1.InstallationList{}
	require.NoError(p.T, p.Client().List(p.Ctx, list, client.InNamespace(p.Namespace)))
	return slices.DeleteFunc(list.Items, func(inst v1alpha1.Installation) bool { return !inst.IsRoot() })
}

// isAtWork reports whether a root has something to do, or is asked to.
func isAtWork(inst v1alpha1.Installation) bool {
	token, status := inst.Annotations[meta.ReconcileRequestAnnotation], &inst.Status
	return !inst.DeletionTimestamp.IsZero() || !status.IsIdle() ||
		!inst.Spec.Suspend && (inst.Generation != status.ObservedGeneration || token != "" && token != status.LastHandledReconcileAt)
}

// askAgain waits until all roots have succeeded or are gone. It asks those again whose jobs have failed, except where a producer
// will do that, and returns how often.
func (p *play) askAgain() map[string]int {
	p.T.Helper()
	asked := map[string]int{}
	recovered := func() bool {
		done := true
		for _, inst := range p.livingRoots() {
			if inst.Spec.Suspend && inst.DeletionTimestamp.IsZero() {
				continue
			}
			done = done && !isAtWork(inst) && inst.Status.Phase == v1alpha1.PhaseSucceeded
			if p.needsHelp(&inst) {
				asked[inst.Name]++
				p.Annotate(&inst, meta.ReconcileRequestAnnotation, strconv.Itoa(p.number)+"/"+strconv.Itoa(asked[inst.Name]))
			}
		}
		return done
	}
	ctx, cancel := context.WithTimeout(p.Ctx, patience())
	defer cancel()
	for !recovered() {
		select {
		case <-time.After(landscape.Tick):
		case <-ctx.Done():
			p.explain()
		}
	}
	return asked
}

// explain fails the test and shows what the roots went through that have not succeeded.
func (p *play) explain() {
	p.T.Helper()
	for _, inst := range p.livingRoots() {
		if isAtWork(inst) || inst.Status.Phase != v1alpha1.PhaseSucceeded {
			p.record.history(p.T, inst.Name)
		}
	}
	p.T.Fatalf("step %d: not all have recovered", p.number)
}

// needsHelp reports whether the last job of a root has failed and nothing but another request starts one.
func (p *play) needsHelp(inst *v1alpha1.Installation) bool {
	status, token := &inst.Status, inst.Annotations[meta.ReconcileRequestAnnotation]
	return status.IsIdle() && status.Phase.IsFailed() && (token == "" || token == status.LastHandledReconcileAt) &&
		(!inst.DeletionTimestamp.IsZero() || inst.Generation == status.ObservedGeneration && !strings.HasPrefix(status.LastError.Message, "depending on installation"))
}

// vandalise deletes something that a root has deployed. Nobody repairs that before the root runs again.
func (p *play) vandalise() {
	candidates := slices.DeleteFunc(slices.Clone(p.world.roots), func(r *root) bool {
		_, succeeded := p.world.used(r)
		return r.suspended || !succeeded || !r.deploys() || r.phase != v1alpha1.PhaseSucceeded || r.node.phase() != v1alpha1.PhaseSucceeded
	})
	if len(candidates) == 0 {
		return
	}
	r := pick(p.g, candidates)
	deployed := &corev1.ConfigMap{ObjectMeta: p.Named(pick(p.g, r.deployed()).name)}
	p.logf("what %s deployed as %s is deleted", r.name, deployed.Name)
	p.Delete(deployed)
	p.stand()
	p.Annotate(p.Installation(r.name), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	p.settle(p.world.predict(only(r)), nil)
	require.NoError(p.T, p.Client().Get(p.Ctx, client.ObjectKeyFromObject(deployed), deployed))
}
