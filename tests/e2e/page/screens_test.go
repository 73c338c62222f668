// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// shop is a landscape in which each Installation is as moods say, by its name.
func (s *scene) shop(moods map[string]mood) {
	s.Helper()
	s.target("eu-prod", "")
	s.target("us-prod", "")
	if environment, fenced := moods["factory"]; fenced {
		s.environment(environment)
		s.target("line-4", s.namespace)
	}
	chart := func(name string, from, to int, m mood, objects ...string) []item {
		return []item{{name: name, kind: "helm", chart: name + " 4.2.0", from: from, to: to, mood: m, objects: objects}}
	}
	put := func(p part) *v1alpha1.Installation {
		p.mood = moods[p.name]
		for i := range p.items {
			if m, own := moods["item "+p.items[i].name]; own {
				p.items[i].mood = m
			}
		}
		return s.install(p)
	}
	put(part{name: "network", target: "eu-prod", exports: []string{"zone"}, to: 6, items: chart("dns", 1, 5, mood{}, "Deployment kube-system/dns", "ConfigMap kube-system/dns")})
	put(part{name: "us-cluster", exportedTarget: "us-prod", imports: []string{"zone"}, from: 6, to: 70, items: []item{{name: "control-plane", kind: "manifest", from: 7, to: 69, objects: []string{"Cluster infra/us-prod", "MachineDeployment infra/us-prod-workers"}}}})
	put(part{name: "database", target: "eu-prod", imports: []string{"zone"}, exports: []string{"database-url"}, from: 6, to: 48, items: chart("postgres", 7, 47, mood{}, "StatefulSet data/postgres", "Service data/postgres", "Secret data/postgres-root")})
	put(part{name: "queue", target: "eu-prod", exports: []string{"queue-url"}, to: 21, items: chart("nats", 1, 20, mood{}, "StatefulSet data/nats", "Service data/nats")})
	put(part{name: "identity", target: "eu-prod", imports: []string{"database-url"}, exports: []string{"issuer"}, from: 48, to: 66, items: chart("keycloak", 49, 65, mood{}, "Deployment identity/keycloak", "Ingress identity/keycloak")})
	shop := put(part{name: "shop", target: "eu-prod", imports: []string{"database-url", "queue-url", "issuer"}, exports: []string{"shop-url"}, from: 66, to: 118})
	put(part{name: "catalog", parent: shop, imports: []string{"database-url"}, exports: []string{"products"}, from: 67, to: 84, items: chart("catalog", 68, 83, mood{}, "Deployment shop/catalog", "Service shop/catalog")})
	put(part{name: "cart", parent: shop, imports: []string{"products", "queue-url"}, exports: []string{"baskets"}, from: 84, to: 97, items: chart("cart", 85, 96, mood{}, "Deployment shop/cart", "Service shop/cart")})
	put(part{name: "checkout", parent: shop, imports: []string{"baskets", "issuer"}, from: 97, to: 117, items: chart("checkout", 98, 116, mood{}, "Deployment shop/checkout", "Service shop/checkout", "Ingress shop/checkout")})
	put(part{name: "search", target: "eu-prod", imports: []string{"database-url"}, exports: []string{"search-url"}, from: 48, to: 61, items: chart("opensearch", 49, 60, mood{}, "StatefulSet search/opensearch")})
	put(part{name: "web", target: "eu-prod", imports: []string{"shop-url", "search-url", "issuer"}, from: 118, to: 133, items: chart("web", 119, 132, mood{}, "Deployment web/web", "Ingress web/web")})
	put(part{name: "cdn", target: "us-prod", imports: []string{"shop-url"}, from: 118, to: 126, items: chart("edge", 119, 125, mood{}, "DaemonSet cdn/edge")})
	put(part{name: "reports", target: "us-prod", imports: []string{"database-url"}, from: 70, to: 88, items: chart("metabase", 71, 87, mood{}, "Deployment reports/metabase")})
	if _, fenced := moods["factory"]; fenced {
		put(part{name: "line-control", target: "line-4", imports: []string{"queue-url"}, exports: []string{"telemetry"}, from: 21, to: 40, items: chart("controller", 22, 39, mood{}, "Deployment line/controller")})
		put(part{name: "line-vision", target: "line-4", imports: []string{"telemetry"}, from: 40, to: 55, items: chart("vision", 41, 54, mood{}, "DaemonSet line/vision")})
	}
	put(part{name: "monitoring", target: "eu-prod", to: 33, items: chart("prometheus", 1, 32, mood{}, "StatefulSet monitoring/prometheus", "ConfigMap monitoring/rules")})
}

// environment creates a fenced cluster, named as the namespace of the scene.
func (s *scene) environment(m mood) {
	s.Helper()
	environment := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
	environment.Spec.Namespace = "landscaper-agent"
	environment.Spec.HostTarget.Type = "landscaper.gardener.cloud/kubernetes-cluster"
	environment.Spec.LandscaperClusterRestConfig.Host = "https://landscaper.example.com"
	environment.Status.Conditions = s.status(m, 0, 60, "the agent is connected").Conditions
	connected := metav1.Condition{Type: v1alpha1.AgentConnectedCondition, Status: metav1.ConditionTrue, Reason: "LeaseRenewed", LastTransitionTime: *s.at(60)}
	if m.phase != "" {
		connected.Status, connected.Reason, connected.Message = metav1.ConditionFalse, m.reason, m.message
	}
	environment.Status.Conditions = append(environment.Status.Conditions, connected)
	s.create(environment)
	s.Cleanup(func() { _ = s.client.Delete(s.T.Context(), environment) })
}

// scenes are the states that a person has to tell apart at a glance, each with what is chosen.
var scenes = []struct {
	name, chosen string
	moods        map[string]mood
}{
	{name: "healthy", chosen: "shop"},
	{name: "running", chosen: "shop", moods: map[string]mood{
		"shop":     {phase: v1alpha1.PhaseProgressing, unfinished: true, reason: "Progressing", message: "waiting for sub-installation cart"},
		"cart":     {phase: v1alpha1.PhaseProgressing, unfinished: true, reason: "Progressing", message: "waiting for deploy item cart"},
		"checkout": {phase: v1alpha1.PhaseInit, unfinished: true, reason: "Progressing", message: "waits for cart, which exports baskets"},
		"web":      {phase: v1alpha1.PhaseInit, unfinished: true, reason: "Progressing", message: "waits for shop, which exports shop-url"},
		"item cart": {phase: v1alpha1.PhaseProgressing, unfinished: true, reason: "Progressing",
			message: "waiting for Deployment shop/cart: 1 of 3 replicas is ready"},
		"item checkout": {phase: v1alpha1.PhaseInit, unfinished: true, queued: true, reason: "Progressing", message: "waits for its turn"},
	}},
	{name: "failed", chosen: "web", moods: map[string]mood{
		"search": {phase: v1alpha1.PhaseFailed, reason: "ChildrenFailed", message: "deploy item opensearch failed"},
		"item opensearch": {phase: v1alpha1.PhaseFailed, reason: "HealthCheckFailed", message: "StatefulSet search/opensearch: Pod opensearch-0 cannot pull " +
			"registry.example.com/opensearch:2.19: dial tcp 10.1.2.3:443: connection refused"},
		"web": {phase: v1alpha1.PhaseFailed, reason: "PredecessorFailed", message: "search, which exports search-url, has failed"},
		"reports": {phase: v1alpha1.PhaseFailed, reason: "RenderFailed", message: "deploy execution default: template: deploy.yaml:3:15: executing \"deploy.yaml\" " +
			"at <.imports.titel>: map has no entry for key \"titel\"\n  2: - name: front\n> 3:   config: {{ .imports.titel }}\n                 ˆ≈≈≈≈≈≈≈"},
		"cdn": {suspended: true, reason: "Suspended"},
	}},
	{name: "drifted", chosen: "database", moods: map[string]mood{
		"database":      {drift: "Not as deployed: deploy item postgres: StatefulSet data/postgres"},
		"item postgres": {drift: "Not as deployed: StatefulSet data/postgres: spec.replicas is 5 instead of 3, changed by kubectl-scale"},
	}},
	{name: "fenced", chosen: "line-control", moods: map[string]mood{
		"factory":      {phase: v1alpha1.PhaseFailed, reason: "AgentUnreachable", message: "the agent has not renewed its Lease since 02:30"},
		"line-control": {phase: v1alpha1.PhaseProgressing, unfinished: true, reason: "Progressing", message: "waiting for deploy item controller"},
		"line-vision":  {phase: v1alpha1.PhaseInit, unfinished: true, reason: "Progressing", message: "waits for line-control, which exports telemetry"},
		"item controller": {phase: v1alpha1.PhaseInit, unfinished: true, queued: true, reason: "Progressing",
			message: "the agent of the Environment has not renewed its Lease since 02:30"},
		"item vision": {phase: v1alpha1.PhaseInit, unfinished: true, queued: true, reason: "Progressing", message: "waits for its turn"},
	}},
}

// TestScreens shows each state at two widths, as graph, with a panel and as table, in light and dark. The pictures are for people; what is checked is that
// nothing is wrong with them for those who see none.
func TestScreens(t *testing.T) {
	for _, test := range scenes {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t)
			s.shop(test.moods)
			s.event("Installation", test.chosen)
			address := serve(t, s.namespace)
			for size, width := range map[string]int{"wide": 1440, "narrow": 700} {
				b := open(t, address, width, 900)
				chosen := "#node=Installation/" + s.namespace + "/" + test.chosen
				for name, fragment := range map[string]string{"graph": "", "panel": chosen, "table": "#view=table"} {
					b.theme(test.name == "drifted" || name == "table" && test.name == "failed")
					b.look(fragment)
					if name == "panel" {
						b.await(`document.querySelector('#panel h2') !== null`)
						if size == "wide" {
							b.settle()
						}
					}
					b.isAccessible()
					b.picture(test.name + "-" + name + "-" + size)
				}
			}
		})
	}
}

// event records something that has happened to an Installation.
func (s *scene) event(kind, name string) {
	s.Helper()
	inst := &v1alpha1.Installation{}
	require.NoError(s, s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, inst))
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name + ".1"}, Type: corev1.EventTypeNormal, Reason: "JobStarted", Message: "job " + s.job + " started: a new revision of GitRepository apps"}
	event.InvolvedObject = corev1.ObjectReference{Kind: kind, Namespace: s.namespace, Name: name, UID: inst.UID, APIVersion: v1alpha1.GroupVersion.String()}
	event.LastTimestamp = metav1.NewTime(time.Now().Add(-2 * time.Minute))
	require.NoError(s, s.client.Create(s.Context(), event))
}

func TestTheGraphIsReachableByKeyboard(t *testing.T) {
	s := newScene(t)
	s.shop(nil)
	b := open(t, serve(t, s.namespace), 1440, 900)
	b.look("")
	b.tabTo("#graph, #graph *")
	require.True(t, ask[bool](b, `document.activeElement.matches('.node:focus-visible')`), "the first stop in the graph is a node, and is seen to be")
	first := ask[string](b, `document.activeElement.dataset.key`)

	b.press("ArrowRight")

	second := ask[string](b, `document.activeElement.dataset.key`)
	assert.NotEqual(t, first, second)
	b.focus("Installation/" + s.namespace + "/shop")
	b.press(" ")
	b.await(`document.querySelector('[data-key$="/shop-cart"]') !== null`)
	b.press("Enter")
	b.await(`document.activeElement?.matches('#panel h2') && document.activeElement.textContent === 'shop'`)
	b.await(`location.hash.includes('node=Installation/') && location.hash.includes('open=')`)
	b.press("Escape")
	b.await(`document.querySelector('#panel').hidden && document.activeElement?.dataset.key?.endsWith('/shop')`)
	b.press("/")
	b.press("opensearch-is-nowhere")
	b.await(`document.querySelector('#empty').textContent === 'Nothing matches the search.'`)
}

func TestLeftLeadsToWhoGives(t *testing.T) {
	s := newScene(t)
	s.install(part{name: "network", exports: []string{"zone"}})
	for _, name := range []string{"cache", "gateway"} { // stand as near as the database does
		s.install(part{name: name, imports: []string{"zone"}})
	}
	s.install(part{name: "database", imports: []string{"zone"}, exports: []string{"database-url"}})
	for _, name := range []string{"api", "billing"} {
		s.install(part{name: name, imports: []string{"database-url"}})
	}
	b := open(t, serve(t, s.namespace), 1440, 900)
	for _, name := range []string{"api", "billing"} {
		b.look("")
		b.focus("Installation/" + s.namespace + "/" + name)

		b.press("ArrowLeft")

		b.await(`document.activeElement.dataset.key?.endsWith('/database')`)
	}
}

func TestARowKeepsTheKeyboard(t *testing.T) {
	s := newScene(t)
	s.install(part{name: "database"})
	s.install(part{name: "web"})
	b := open(t, serve(t, s.namespace), 1440, 900)
	b.look("#view=table")
	b.tabTo(`#table [data-key$="/database"] button`)
	const focused = `document.activeElement?.closest('tr')?.dataset.key.endsWith('/database')`

	inst := &v1alpha1.Installation{}
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "database"}, inst))
	inst.Status.JobStatus = s.status(mood{phase: v1alpha1.PhaseFailed, reason: "RenderFailed", message: "no value for title"}, 0, 10, "")
	require.NoError(t, s.client.Status().Update(t.Context(), inst))

	b.await(`document.querySelector('#table [data-key$="/database"]').textContent.includes('no value for title')`)
	b.await(focused)
	b.press("Enter")
	b.await(`document.activeElement?.matches('#panel h2')`)
	b.press("Escape")
	b.await(`document.querySelector('#panel').hidden && ` + focused)
}

func TestNamesOfEdgesDoNotOverlap(t *testing.T) {
	s := newScene(t)
	s.install(part{name: "cluster", exports: []string{"zone"}, exportedTarget: "prod"})
	s.install(part{name: "shop", imports: []string{"zone"}, target: "prod"}) // takes both
	b := open(t, serve(t, s.namespace), 1440, 900)

	b.look("#group=none&node=Installation/" + s.namespace + "/shop")

	b.await(`document.querySelectorAll('#graph .names').length === 2`)
	assert.False(t, ask[bool](b, `(([a, b]) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
		([...document.querySelectorAll('#graph .names')].map((text) => text.getBoundingClientRect()))`))
}

func TestTheSearchFindsNamesAndWhatIsSaidOfWhatIsNotWell(t *testing.T) {
	s := newScene(t)
	s.shop(scenes[2].moods)
	b := open(t, serve(t, s.namespace), 1440, 900)
	for query, found := range map[string][]string{"titel": {"reports"}, "opensearch": {"search"}, "cdn": {"cdn"}, "deployed": nil} {
		b.visit("#view=table&q=kind:installation+" + query)
		b.await(`document.body.dataset.view === 'table' && document.querySelector('#where').textContent !== ''`)
		assert.Equal(t, len(found), ask[int](b, `document.querySelectorAll('#table tbody tr').length`), query)
		for _, name := range found {
			assert.True(t, ask[bool](b, fmt.Sprintf(`document.querySelector('#table tbody [data-key$="/%s"]') !== null`, name)), query)
		}
	}
}

func TestTheTableSearchesSortsAndOpens(t *testing.T) {
	s := newScene(t)
	s.shop(scenes[2].moods)
	b := open(t, serve(t, s.namespace), 1440, 900)
	b.visit("#view=table&q=kind:installation")
	b.await(`document.querySelectorAll('#table tbody tr').length === 14`)
	assert.Equal(t, []string{"Failed", "Failed", "Failed"}, ask[[]string](b, `[...document.querySelectorAll('#table tbody tr')].slice(0, 3).map((row) => row.cells[0].textContent.trim())`))

	b.click(`#states button`)

	b.await(`document.querySelectorAll('#table tbody tr').length === 3 && location.hash.includes('state=Failing')`)
	b.click(`#table tbody [data-key$="/web"] button`)
	b.await(`document.querySelector('#panel .chain')?.textContent.includes('connection refused')`)
	assert.Contains(t, ask[string](b, `document.querySelector('#panel').textContent`), "search, which exports search-url, has failed")
}
