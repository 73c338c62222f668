// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// step does one random thing and checks what follows.
func (p *play) step() {
	p.number++
	if p.anyStuck() || !p.world.healthy() && p.g.chance(3) {
		p.heal()
		return
	}
	type choice struct {
		weight int
		do     func()
	}
	choices := []choice{
		{5, p.alterOne}, {2, p.alterData}, {1, p.reconcile}, {1, p.applyAgain}, {2, p.fail}, {2, p.stick}, {1, p.removeSome}, {1, p.add},
		{1, p.suspend}, {1, p.vandalise},
	}
	if p.world.healthy() {
		choices = append(choices, choice{4, p.storm}, choice{2, p.hurry}, choice{*outages, p.outage})
	}
	total := 0
	for _, c := range choices {
		total += c.weight
	}
	at := p.g.IntN(total)
	for _, c := range choices {
		if at -= c.weight; at < 0 {
			c.do()
			return
		}
	}
}

// anyStuck reports whether the next job of a root would wait for ever.
func (p *play) anyStuck() bool {
	return slices.ContainsFunc(p.world.roots, func(r *root) bool { return r.node.phase() == v1alpha1.PhaseProgressing })
}

// only is a set of one.
func only(r *root) map[string]bool { return map[string]bool{r.name: true} }

func (p *play) alterOne() {
	if len(p.world.roots) == 0 {
		p.add()
		return
	}
	r := pick(p.g, p.world.roots)
	p.logf("%s: %s", r.name, p.alter(r))
	p.settle(p.world.predict(only(r)), nil)
}

// alter changes a root in model and cluster.
func (p *play) alter(r *root) string {
	before := document(r.spec())
	for {
		done := p.g.alter(r.node, p.candidates(r))
		if document(r.spec()) != before {
			p.plant(r)
			return done
		}
	}
}

func (p *play) alterData() {
	name := fmt.Sprintf("data%d", p.g.IntN(dataObjects))
	p.setData(name)
	p.logf("another %s", name)
	p.settle(p.world.predict(nil), nil)
}

func (p *play) reconcile() {
	if len(p.world.roots) == 0 {
		return
	}
	r := pick(p.g, p.world.roots)
	p.logf("%s is to run", r.name)
	if p.g.chance(2) {
		p.Annotate(p.Installation(r.name), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	} else {
		p.Annotate(p.Installation(r.name), meta.ReconcileRequestAnnotation, strconv.Itoa(p.number))
	}
	p.settle(p.world.predict(only(r)), nil)
}

// applyAgain is what Flux does at every sync. A job that starts all the same shows in the next step.
func (p *play) applyAgain() {
	p.logf("the same again")
	for _, r := range p.world.roots {
		p.plant(r)
	}
	p.settle(p.world.predict(nil), nil)
}

// withItem returns a random mock item of a root, which gets one if it has none.
func (p *play) withItem(r *root) *item {
	items := r.itemsThat((*item).isMock)
	if len(items) == 0 {
		it := p.g.mockItem(nil)
		r.items = append(r.items, it)
		return it
	}
	return pick(p.g, items)
}

func (p *play) fail() {
	if len(p.world.roots) == 0 {
		return
	}
	r := pick(p.g, p.world.roots)
	p.spoil(r)
	p.plant(r)
	p.settle(p.world.predict(only(r)), nil)
	if !r.suspended {
		p.requireCause(r, r.causes()...)
	}
}

// asksToFail is what an item that fails says.
const asksToFail = "asks for the phase Failed"

// spoil lets an item or a template of a root fail. It always changes the spec of the root, also where that fails in the same way already.
func (p *play) spoil(r *root) {
	if p.g.chance(3) {
		n := pick(p.g, r.all())
		former := n.broken
		n.broken = deployExecution
		if !n.silent && p.g.chance(2) {
			n.broken = exportExecution
		}
		if n.broken != former {
			p.logf("%s fails by %s of %s", r.name, n.broken, n.name)
			return
		}
	}
	it := p.withItem(r)
	failed := it.phase == v1alpha1.PhaseFailed
	it.phase = v1alpha1.PhaseFailed
	if failed || p.g.chance(2) {
		it.salt++
	}
	p.logf("%s fails by %s", r.name, it.name)
}

// causes are what a root may say about its failure: of several in one tree, one can keep the others from being reached.
func (r *root) causes() (causes []string) {
	for _, n := range r.all() {
		if n.broken != "" {
			causes = append(causes, failure)
		}
	}
	if len(r.itemsThat(func(it *item) bool { return it.phase == v1alpha1.PhaseFailed })) > 0 {
		causes = append(causes, asksToFail)
	}
	return causes
}

// requireCause checks that a root says one of these causes of its failure.
func (p *play) requireCause(r *root, causes ...string) {
	p.T.Helper()
	if r.ordered {
		causes = []string{"depending on installation"}
	}
	last := p.record.installation(r.name).Status.LastError
	require.NotNil(p.T, last, r.name)
	says := func(cause string) bool { return strings.Contains(last.Message, cause) }
	require.True(p.T, slices.ContainsFunc(causes, says), "%s says %s, not one of %q", r.name, last.Message, causes)
}

// heal repairs every root whose items fail, those that data flows from first, and asks the interrupted ones to run.
func (p *play) heal() {
	touched := map[string]bool{}
	for _, r := range p.world.roots {
		if r.suspended {
			continue
		}
		failing := r.node.phase() != v1alpha1.PhaseSucceeded
		switch {
		case failing:
			r.heal()
			p.plant(r)
			touched[r.name] = true
		case r.phase == v1alpha1.PhaseFailed && !r.ordered:
			p.Annotate(p.Installation(r.name), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
			touched[r.name] = true
		}
	}
	p.logf("%s are repaired", strings.Join(slices.Sorted(maps.Keys(touched)), ", "))
	most := p.bounds(touches(touched), nil)
	p.settle(p.world.predict(touched), most)
}

// stick lets a root wait for ever, and interrupts it: alone, after a repair, or while it is being deleted.
func (p *play) stick() {
	var candidates []*root
	for _, r := range p.world.roots {
		if _, succeeded := p.world.used(r); succeeded && !r.suspended && r.node.phase() == v1alpha1.PhaseSucceeded {
			candidates = append(candidates, r)
		}
	}
	if len(candidates) == 0 {
		return
	}
	r := pick(p.g, candidates)
	it := p.withItem(r)
	it.phase = v1alpha1.PhaseProgressing
	p.plant(r)
	p.logf("%s is stuck in %s", r.name, it.name)
	p.settle(p.world.predict(only(r)), nil)
	switch p.g.IntN(3) {
	case 0:
		p.logf("%s is interrupted", r.name)
		p.interrupt(r)
		r.phase = v1alpha1.PhaseFailed
		p.settle(nil, nil)
		p.requireCause(r, "interrupted")
	case 1:
		p.logf("%s is repaired and interrupted", r.name)
		r.heal()
		p.plant(r)
		p.interrupt(r)
		p.settle(p.world.predict(only(r)), nil)
	case 2:
		p.logf("%s is deleted and interrupted", r.name)
		p.remove(p.world.downstream(r), r)
	}
}

func (p *play) interrupt(r *root) {
	p.Annotate(p.Installation(r.name), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
}

func (p *play) removeSome() {
	if len(p.world.roots) == 0 {
		return
	}
	p.remove(p.world.downstream(pick(p.g, p.world.roots)))
}

// remove deletes roots in a random order and interrupts some, and waits until they are gone.
func (p *play) remove(roots []*root, stuck ...*root) {
	names := p.deleteAll(roots)
	for _, r := range stuck {
		p.interrupt(r)
	}
	p.kill()
	p.awaitGone(names)
	p.settle(nil, nil)
}

// deleteAll asks for the deletion of roots in a random order, and returns their names.
func (p *play) deleteAll(roots []*root) (names []string) {
	p.g.Shuffle(len(roots), func(i, j int) { roots[i], roots[j] = roots[j], roots[i] })
	for _, r := range roots {
		names = append(names, r.name)
		if r.suspended {
			p.keep(r)
		}
		p.Delete(p.Installation(r.name))
	}
	p.logf("%s are deleted", strings.Join(names, ", "))
	return names
}

// awaitGone waits until roots are gone, and takes them out of the model.
func (p *play) awaitGone(names []string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.Ctx, patience())
	defer cancel()
	var left string
	err := p.record.await(ctx, func() bool {
		at := slices.IndexFunc(names, func(name string) bool { return p.record.installation(name) != nil })
		if left = ""; at >= 0 {
			left = names[at]
		}
		return at < 0
	})
	if left != "" {
		p.record.history(p.T, left)
	}
	require.NoError(p.T, err, "installation %s is still there", left)
	p.world.roots = slices.DeleteFunc(p.world.roots, func(r *root) bool { return slices.Contains(names, r.name) })
	p.removed = append(p.removed, names...)
}

func (p *play) add() {
	r := p.grow(mostInTree)
	p.logf("%s is new", r.name)
	p.plant(r)
	p.settle(p.world.predict(only(r)), nil)
}

// suspend suspends a root, or resumes it if it is suspended.
func (p *play) suspend() {
	if len(p.world.roots) == 0 {
		return
	}
	r := pick(p.g, p.world.roots)
	r.suspended = !r.suspended
	p.logf("%s is suspended: %v", r.name, r.suspended)
	p.plant(r)
	p.settle(p.world.predict(only(r)), nil)
}

// hurry interrupts a root at any moment of a job, which it may outrun, and asks it to run again.
func (p *play) hurry() {
	if len(p.world.roots) == 0 {
		return
	}
	r := pick(p.g, p.world.roots)
	if r.suspended {
		return
	}
	begin := p.record.now()
	before := map[string]map[string]bool{r.name: p.world.upstream(r)}
	done := p.alter(r)
	moment := 1 + p.g.IntN(2*len(r.all()))
	p.logf("%s: %s, interrupted after %d have begun", r.name, done, moment)
	ctx, cancel := context.WithTimeout(p.Ctx, patience())
	defer cancel()
	require.NoError(p.T, p.record.await(ctx, func() bool { return p.hasEnded(r) || p.hasBegun(r) && p.record.begun(r.name) >= moment }))
	p.interrupt(r)
	require.NoError(p.T, p.record.await(ctx, func() bool { return p.hasEnded(r) }))
	token := strconv.Itoa(p.number)
	p.Annotate(p.Installation(r.name), meta.ReconcileRequestAnnotation, token)
	require.NoError(p.T, p.record.await(ctx, func() bool {
		return p.hasEnded(r) && p.record.installation(r.name).Status.LastHandledReconcileAt == token
	}))
	p.settle(p.world.predict(only(r)), p.bounds(map[string]int{r.name: 2}, before))
	p.storms = append(p.storms, [2]int64{begin, p.record.now()})
}

// hasBegun reports whether a root has got a job in this step.
func (p *play) hasBegun(r *root) bool { return len(p.record.jobs(r.name)) > r.jobs }

// hasEnded reports whether a root has got jobs in this step and is idle.
func (p *play) hasEnded(r *root) bool {
	inst := p.record.installation(r.name)
	return inst != nil && inst.Status.IsIdle() && p.hasBegun(r)
}

const mostInStorm = 8

// storm changes many things without waiting. New roots come first, so that nothing imports what is not there.
func (p *play) storm() {
	begin := p.record.now()
	before := map[string]map[string]bool{}
	for _, r := range p.world.roots {
		before[r.name] = p.world.upstream(r)
	}
	count := map[string]int{}
	var done []string
	for p.g.chance(2) {
		r := p.grow(mostInTree)
		p.plant(r)
		count[r.name]++
		done = append(done, r.name+" is new")
	}
	for range 2 + p.g.IntN(mostInStorm) {
		if len(p.world.roots) > 0 && !p.g.chance(4) {
			r := pick(p.g, p.world.roots)
			done = append(done, r.name+" has "+p.alter(r))
			count[r.name]++
		} else if name := fmt.Sprintf("data%d", p.g.IntN(dataObjects)); p.allReact(name) {
			p.setData(name)
			done = append(done, name+" is another")
			count[name]++
		}
	}
	p.logf("all at once: %s", strings.Join(done, "; "))
	touched := map[string]bool{}
	for name := range count {
		touched[name] = true
	}
	p.settle(p.world.predict(touched), p.bounds(count, before))
	p.storms = append(p.storms, [2]int64{begin, p.record.now()})
}

// allReact reports whether everybody who imports a DataObject runs when it changes: else it depends on who is first what they see.
func (p *play) allReact(name string) bool {
	return !slices.ContainsFunc(p.world.roots, func(r *root) bool { return !r.reacts && slices.Contains(r.refs, name) })
}

func touches(touched map[string]bool) map[string]int {
	count := map[string]int{}
	for name := range touched {
		count[name] = 1
	}
	return count
}

// bounds returns how often each root may run at most: once for each change of itself and of everything that flows to it, or did before.
func (p *play) bounds(count map[string]int, before map[string]map[string]bool) map[string]int {
	most := map[string]int{}
	for _, r := range p.world.roots {
		names := p.world.upstream(r)
		maps.Copy(names, before[r.name])
		for name := range names {
			most[r.name] += count[name]
		}
	}
	return most
}
