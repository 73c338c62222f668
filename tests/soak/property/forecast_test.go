// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	view "github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/forecast"
)

// TestGateForecastsAreTrue is a sample of TestSoakForecastsAreTrue.
func TestGateForecastsAreTrue(t *testing.T) { foresee(t, 1, 12, 4) }

// TestSoakForecastsAreTrue edits random landscapes at random: what the forecast of each edit says is what the jobs then do, and that of no edit is empty.
func TestSoakForecastsAreTrue(t *testing.T) {
	for seed := *first; seed < *first+uint64(*seeds); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			foresee(t, seed, *size, *steps)
		})
	}
}

func foresee(t *testing.T, seed uint64, installations, edits int) {
	p := newPlay(t, &gardener{Rand: rand.New(rand.NewPCG(seed, uint64(installations)))})
	for k := range dataObjects {
		p.setData(fmt.Sprintf("data%d", k))
	}
	touched := map[string]bool{}
	for p.world.size() < installations {
		r := p.grow(min(mostInTree, installations-p.world.size()))
		p.plant(r)
		touched[r.name] = true
	}
	p.settle(p.world.predict(touched), nil)
	said, unknown := 0, 0
	for range edits {
		p.number++
		s, u := p.foresee()
		said, unknown = said+s, unknown+u
	}
	t.Logf("facts: %d, unknown: %d", said, unknown)
	require.LessOrEqual(t, 20*unknown, said+unknown, "more than 5 %% are unknown")
}

// foresee makes a random edit, and compares what is said about it with what follows. It returns how many facts are right, and how many unknown.
func (p *play) foresee() (said, unknown int) {
	p.T.Helper()
	quiet := p.forecast()
	require.False(p.T, quiet.Differs(), "without an edit: %s", strings.Join(quiet.Lines(0, false), "\n"))
	data, before := []string{}, map[*root]string{}
	for _, r := range p.world.roots {
		before[r] = document(r.manifest())
	}
	for range 1 + p.g.IntN(3) {
		switch r := pick(p.g, p.world.roots); {
		case r.node.phase() != v1alpha1.PhaseSucceeded:
			r.heal()
		case p.g.chance(6):
			p.spoil(r)
		case p.g.chance(4):
			name := fmt.Sprintf("data%d", p.g.IntN(dataObjects))
			if !p.allReact(name) {
				continue
			}
			p.world.data[name] = digest([]string{p.g.fresh(name)})
			data = append(data, name)
			continue
		case p.g.chance(6):
			p.grow(mostInTree)
		default:
			p.logf("%s: %s", r.name, p.g.alter(r.node, p.candidates(r)))
		}
	}
	touched, planted := map[string]bool{}, []*root{} // an edit may take another one back
	for _, r := range p.world.roots {
		if before[r] != document(r.manifest()) {
			touched[r.name], planted = true, append(planted, r)
		}
	}
	found := p.forecast()
	former, deployed := p.snapshot(), p.deployed()
	for _, name := range data {
		p.Put("DataObject", name, object{"data": p.world.data[name]})
	}
	for _, r := range planted {
		p.plant(r)
	}
	most := map[string]int{}
	for _, r := range p.world.roots {
		most[r.name] = edgesOfEdit
	}
	p.settle(p.world.predict(touched), most)
	happened := p.facts(former, p.snapshot(), deployed, p.deployed())
	foretold, open := factsOf(found)
	known := func(facts []string) []string {
		return slices.DeleteFunc(slices.Clone(facts), func(fact string) bool {
			return slices.ContainsFunc(open, func(name string) bool { return strings.Contains(fact+" ", " "+name+" ") })
		})
	}
	require.Equal(p.T, known(happened), known(foretold), "the forecast was:\n%s", strings.Join(found.Lines(0, false), "\n"))
	return len(known(happened)), len(happened) - len(known(happened))
}

// edgesOfEdit is how often a root may run after one edit: for itself, and for each of those that flow to it.
const edgesOfEdit = 8

// forecast writes the model into files, and asks what they would do.
func (p *play) forecast() *forecast.Forecast {
	p.T.Helper()
	dir := p.T.TempDir()
	write := func(kind, name string, content object) {
		content["apiVersion"], content["kind"] = v1alpha1.GroupVersion.String(), kind
		metadata, _ := content["metadata"].(object)
		if metadata == nil {
			metadata = object{}
		}
		metadata["name"], content["metadata"] = name, metadata
		require.NoError(p.T, os.WriteFile(filepath.Join(dir, strings.ToLower(kind)+"-"+name+".yaml"), []byte(document(content)), 0o600))
	}
	for name, value := range p.world.data {
		write("DataObject", name, object{"data": value})
	}
	for _, r := range p.world.roots {
		write("Installation", r.name, r.manifest())
	}
	files, err := forecast.Directory(dir, ".")
	require.NoError(p.T, err)
	found, err := forecast.Of(p.Ctx, forecast.Former{Cluster: p.Client(), Namespace: p.Namespace}, files)
	require.NoError(p.T, err)
	return found
}

func (p *play) snapshot() *view.Snapshot {
	p.T.Helper()
	snapshot, err := view.Read(p.Ctx, p.Client(), p.Namespace)
	require.NoError(p.T, err)
	return snapshot
}

// deployed returns the values of the ConfigMaps on the target.
func (p *play) deployed() map[string]string {
	p.T.Helper()
	maps, found := &corev1.ConfigMapList{}, map[string]string{}
	require.NoError(p.T, p.Client().List(p.Ctx, maps, client.InNamespace(p.Namespace), client.HasLabels{v1alpha1.ManifestDeployItemLabel}))
	for i := range maps.Items {
		found[maps.Items[i].Name] = maps.Items[i].Data["value"]
	}
	return found
}

// facts are what has happened between two states.
func (p *play) facts(before, after *view.Snapshot, old, now map[string]string) (facts []string) {
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	for _, object := range after.Objects("Installation") {
		inst := object.(*v1alpha1.Installation)
		former, _ := before.Find("Installation", inst.Namespace, inst.Name).(*v1alpha1.Installation)
		name := pathIn(after, inst)
		if former == nil || former.Status.JobID != inst.Status.JobID {
			add("job of %s", name)
			if inst.Status.Phase == v1alpha1.PhaseFailed {
				add("failure of %s", name)
			}
		}
		for _, export := range inst.Spec.Exports.Data {
			if inst.IsRoot() && valueIn(before, inst, export.DataRef) != valueIn(after, inst, export.DataRef) {
				add("export of %s", name)
			}
		}
	}
	for _, object := range before.Objects("Installation") {
		if after.Find("Installation", object.GetNamespace(), object.GetName()) == nil {
			add("end of %s", pathIn(before, object.(*v1alpha1.Installation)))
		}
	}
	for _, object := range after.Objects("DeployItem") {
		item := object.(*v1alpha1.DeployItem)
		former, _ := before.Find("DeployItem", item.Namespace, item.Name).(*v1alpha1.DeployItem)
		if former == nil || former.UID != item.UID || !equality.Semantic.DeepEqual(former.Spec, item.Spec) {
			add("item of %s : %s", pathIn(after, ownerIn(after, item)), item.Labels[v1alpha1.ExecutionManagedNameLabel])
		}
	}
	for _, object := range before.Objects("DeployItem") {
		if after.Find("DeployItem", object.GetNamespace(), object.GetName()) == nil {
			add("item of %s : %s", pathIn(before, ownerIn(before, object)), object.GetLabels()[v1alpha1.ExecutionManagedNameLabel])
		}
	}
	for name, value := range now {
		if former, was := old[name]; !was {
			add("ConfigMap added : %s", name)
		} else if former != value {
			add("ConfigMap changed : %s", name)
		}
	}
	for name := range old {
		if _, is := now[name]; !is {
			add("ConfigMap deleted : %s", name)
		}
	}
	slices.Sort(facts)
	return facts
}

func ownerIn(snapshot *view.Snapshot, item client.Object) *v1alpha1.Installation {
	inst, _ := snapshot.Find("Installation", item.GetNamespace(), item.GetLabels()[v1alpha1.ExecutionManagedByLabel]).(*v1alpha1.Installation)
	return inst
}

func pathIn(snapshot *view.Snapshot, inst *v1alpha1.Installation) string {
	if parent, ok := snapshot.Parent(inst).(*v1alpha1.Installation); ok {
		return pathIn(snapshot, parent) + "/" + inst.Annotations[v1alpha1.SubinstallationNameAnnotation]
	}
	return inst.Name
}

func valueIn(snapshot *view.Snapshot, inst *v1alpha1.Installation, name string) string {
	data, _ := snapshot.Find("DataObject", inst.Namespace, view.DataNameOf(inst, name)).(*v1alpha1.DataObject)
	if data == nil {
		return ""
	}
	return string(data.Data.RawMessage)
}

// factsOf are what a forecast says in the words of facts, and the names of the Installations of which not all is known.
func factsOf(f *forecast.Forecast) (facts, open []string) {
	add := func(format string, args ...any) { facts = append(facts, fmt.Sprintf(format, args...)) }
	for i := range f.Installations {
		c := &f.Installations[i]
		if len(c.Unknown) > 0 {
			open = append(open, c.Name)
		}
		if c.Why != "" && c.What != forecast.Deleted {
			add("job of %s", c.Name)
		}
		if c.Fails != "" {
			add("failure of %s", c.Name)
		}
		if c.What == forecast.Deleted {
			add("end of %s", c.Name)
		}
		if len(c.Exports) > 0 && !strings.Contains(c.Name, "/") {
			add("export of %s", c.Name)
		}
		for _, item := range c.Items {
			add("item of %s : %s", c.Name, item.Name)
			for _, object := range item.Objects {
				add("%s %s : %s", object.Kind, object.What, object.Name)
			}
		}
	}
	slices.Sort(facts)
	return facts, open
}
