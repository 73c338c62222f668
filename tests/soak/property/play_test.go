// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// play is the life of one landscape: what is done in the cluster, and the model of what has to follow.
type play struct {
	*landscape.Scene
	g      *gardener
	world  *world
	record *record
	// number counts the steps.
	number int
	// removed are names of roots that are free again.
	removed []string
	// kept is what suspended roots have left in the target, by kind and name.
	kept []string
	// storms are the spans of time in which many things were changed at once.
	storms [][2]int64
	// door is the way to the target, revoke takes the rights there away and returns what gives them back.
	door   *faults.Door
	revoke func() (grant func())
}

const dataObjects = 5

// begin plants the landscape.
func (p *play) begin() {
	for k := range dataObjects {
		name := fmt.Sprintf("data%d", k)
		p.setData(name)
	}
	touched := map[string]bool{}
	for p.world.size() < *size {
		r := p.grow(min(mostInTree, *size-p.world.size()))
		p.plant(r)
		touched[r.name] = true
	}
	p.logf("%d roots of %d installations", len(p.world.roots), p.world.size())
	p.settle(p.world.predict(touched), nil)
}

// end deletes everything and judges the record.
func (p *play) end() {
	p.remove(slices.Clone(p.world.roots))
	p.awaitNothingLeft()
	wrong := p.record.judge(p.storms)
	if len(wrong) > 0 {
		p.record.history(p.T, rootOf(wrong[0]))
	}
	require.Empty(p.T, wrong)
}

// rootOf returns the root that a text of judge is about.
func rootOf(text string) string {
	_, name, _ := strings.Cut(text, "/")
	name, _, _ = strings.Cut(name, " ")
	name, _, _ = strings.Cut(name, "-")
	return name
}

func (p *play) logf(format string, args ...any) {
	p.T.Helper()
	p.T.Logf("%s step %d at %d: %s", time.Now().Format(time.TimeOnly), p.number, p.record.now(), fmt.Sprintf(format, args...))
}

// setData gives a DataObject another value.
func (p *play) setData(name string) {
	p.world.data[name] = digest([]string{p.g.fresh(name)})
	p.Put("DataObject", name, object{"data": p.world.data[name]})
}

// candidates are what a root may import: data, and the exports of the roots before it.
func (p *play) candidates(before *root) []string {
	var names []string
	for k := range dataObjects {
		names = append(names, fmt.Sprintf("data%d", k))
	}
	for _, r := range p.world.roots {
		if r == before {
			break
		}
		names = append(names, r.name)
	}
	return names
}

// grow adds a root to the model, sometimes under the name of one that was deleted.
func (p *play) grow(most int) *root {
	name := p.g.fresh("root")
	if len(p.removed) > 0 && p.g.chance(2) {
		name, p.removed = p.removed[0], p.removed[1:]
	}
	r := &root{node: p.g.tree(name, p.candidates(nil), 1, 1+p.g.IntN(most)), reacts: p.g.chance(2)}
	p.world.roots = append(p.world.roots, r)
	return r
}

// plant applies a root as it is in the model.
func (p *play) plant(r *root) { p.Put("Installation", r.name, r.manifest()) }

// manifest of a root, without its name.
func (r *root) manifest() object {
	annotations := object{v1alpha1.ReconcileIfChangedAnnotation: "true"}
	if r.reacts {
		annotations[v1alpha1.ReconcileIfImportsChangedAnnotation] = "true"
	}
	spec := r.spec()
	if r.suspended {
		spec["suspend"] = true
	}
	return object{"metadata": object{"annotations": annotations}, "spec": spec}
}

// settle waits until the cluster is as the model says, where the given roots have run once: or, if most is given, at least once and at most
// that often.
func (p *play) settle(ran map[string]bool, most map[string]int) {
	p.T.Helper()
	p.kill()
	ctx, cancel := context.WithTimeout(p.Ctx, patience())
	defer cancel()
	var wrong *mismatch
	err := p.record.await(ctx, func() bool {
		wrong = p.compare(ran, most)
		return wrong == nil || wrong.final
	})
	if wrong != nil {
		p.record.history(p.T, wrong.root)
		upstream := p.world.upstream(p.world.root(wrong.root))
		p.logf("what flows to %s: %v", wrong.root, upstream)
		p.record.historyOf(p.T, func(work worker) bool { return work.GetName() != wrong.root && upstream[work.GetName()] })
		p.T.Fatalf("step %d: %s (%v)", p.number, wrong.text, err)
	}
	require.NoError(p.T, err)
	for _, r := range p.world.roots {
		r.jobs = len(p.record.jobs(r.name))
	}
}

// mismatch is a difference between model and cluster; final ones do not go away by waiting.
type mismatch struct {
	root, text string
	final      bool
}

func (p *play) compare(ran map[string]bool, most map[string]int) *mismatch {
	var waiting *mismatch
	for _, r := range p.world.roots {
		least, limit := 0, 0
		if ran[r.name] {
			least, limit = 1, 1
		}
		if most != nil {
			limit = most[r.name]
		}
		jobs := len(p.record.jobs(r.name)) - r.jobs
		if jobs > limit {
			return &mismatch{r.name, fmt.Sprintf("%s had %d jobs, at most %d are right", r.name, jobs, limit), true}
		}
		if text := p.difference(r); text != "" {
			waiting = &mismatch{root: r.name, text: r.name + " " + text}
		} else if jobs < least {
			waiting = &mismatch{root: r.name, text: fmt.Sprintf("%s had %d jobs, at least %d are right", r.name, jobs, least)}
		}
	}
	return waiting
}

// difference says what is different about a root, empty when nothing is.
func (p *play) difference(r *root) string {
	inst := p.record.installation(r.name)
	switch {
	case inst == nil:
		return "is not there"
	case r.phase == v1alpha1.PhaseProgressing:
		if inst.Status.IsIdle() || !p.isStuck(r) {
			return "has no waiting item"
		}
		return ""
	case inst.Generation != inst.Status.ObservedGeneration && !r.suspended || !inst.Status.IsIdle():
		return "is at work"
	case inst.Status.Phase != r.phase:
		return fmt.Sprintf("is %s and not %s", inst.Status.Phase, r.phase)
	case p.record.exported(r.name) != r.export:
		return fmt.Sprintf("exports %q and not %q", p.record.exported(r.name), r.export)
	}
	return ""
}

// isStuck reports whether a DeployItem of a root was picked up and waits.
func (p *play) isStuck(r *root) bool {
	for name := range p.record.names {
		kind, name, _ := strings.Cut(name, "/")
		if kind != "DeployItem" || !strings.HasPrefix(name, r.name+"-") {
			continue
		}
		last, living := p.record.newest(kind, name)
		if item, ok := last.object.(*v1alpha1.DeployItem); ok && living && item.Status.Phase == v1alpha1.PhaseProgressing &&
			item.Status.LastReconcileTime != nil && !item.Status.IsIdle() {
			return true
		}
	}
	return false
}
