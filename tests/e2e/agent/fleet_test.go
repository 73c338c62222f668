// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

const (
	// registrations is how many deployers each environment gets.
	registrations = 4
	// promised is the time in which the deployers of 50 environments are installed.
	promised = time.Minute
)

// environments is how many environments BenchmarkEnvironments has.
var environments = flag.Int("environments", 50, "how many environments the benchmark has")

// fleet is many agents, which share a fenced cluster, and the controller of the landscaper cluster.
type fleet struct {
	b          *testing.B
	scenes     []*scene
	agents     []*member
	controller *programs.Process
	// before is the CPU time of each group of processes when the measurement began.
	before map[string]float64
}

// BenchmarkEnvironments has deployers installed into many environments, whose agents start at once, and uninstalled when all are deleted. The agents
// are processes of the product, each with an account and a namespace of its own on the landscaper cluster, and with its own helm deployer.
func BenchmarkEnvironments(b *testing.B) {
	for round := range b.N {
		f := newFleet(b, round)
		deployers := f.register()
		b.ResetTimer()
		began := time.Now()
		f.before = f.cpu()
		for _, s := range f.scenes {
			f.agents = append(f.agents, s.start(s.environment+"-agent", s.account, s.agentArgs("--render-processes=1")...))
		}
		f.each(func(s *scene) {
			for _, deployer := range deployers {
				s.succeeded(s.home(), deployer+"-"+s.environment)
			}
		})
		took := time.Since(began)
		b.ReportMetric(took.Seconds(), "installed-s")
		f.reportUsage()
		f.each(func(s *scene) {
			s.awaitEnvironment(func(env *v1alpha1.Environment) bool {
				return conditions.IsReady(env) && conditions.IsTrue(env, v1alpha1.AgentConnectedCondition) && len(env.Status.Deployers) == registrations
			})
		})
		b.ReportMetric(time.Since(began).Seconds(), "shown-s")
		f.reportRequests(began)
		if *environments <= 50 {
			require.Less(b, took, promised, "the time in docs/operate/sizing.md")
		}
		began = time.Now()
		f.each(func(s *scene) {
			s.patch(s.registered(), `{"metadata": {"annotations": {"`+v1alpha1.ReleaseAgentAnnotation+`": "true"}}}`)
			require.NoError(b, s.Client().Delete(s.ctx, s.registered()))
		})
		f.each(func(s *scene) {
			require.NoError(b, s.AwaitGone(s.ctx, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: s.environment}}))
		})
		b.ReportMetric(time.Since(began).Seconds(), "gone-s")
		b.StopTimer()
		for _, name := range deployers {
			registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: name}}
			require.NoError(b, f.scenes[0].Client().Delete(f.scenes[0].ctx, registration))
			require.NoError(b, f.scenes[0].AwaitGone(f.scenes[0].ctx, registration))
		}
	}
}

// newFleet gives every agent what an administrator gives it, and starts the controller.
func newFleet(b *testing.B, round int) *fleet {
	b.Helper()
	f := &fleet{b: b}
	for i := range *environments {
		s := newScene(b, fmt.Sprintf("fleet-%d-%d", round, i))
		allowed := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: s.environment}}
		require.NoError(b, s.Apply(s.ctx, allowed))
		f.scenes = append(f.scenes, s)
	}
	first := f.scenes[0]
	f.controller = landscape.Run(first.ctx, b, first.Cluster, "controller", landscape.AllRights, "controller", "--deployer-management")
	return f
}

func (f *fleet) each(do func(*scene)) {
	f.b.Helper()
	for _, s := range f.scenes {
		do(s)
	}
}

// register makes DeployerRegistrations, each with a chart of one ConfigMap, and returns their names.
func (f *fleet) register() []string {
	f.b.Helper()
	var names []string
	for i := range registrations {
		name := fmt.Sprintf("deployer-%d", i)
		config := strings.Replace(settings(f.b, name, "x"), "name: "+name+"\n", "name: {{ .imports.identity }}\n", 1)
		blueprint := "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\nimports:\n" +
			"- {name: cluster, type: target, targetType: " + v1alpha1.KubernetesClusterTargetType + "}\n" +
			"- {name: landscaperCluster, type: target, targetType: " + v1alpha1.KubernetesClusterTargetType + ", required: false}\n" +
			"- {name: identity, type: data, schema: {type: string}}\n- {name: targetSelectors, type: data, schema: {type: array}}\n" +
			"deployExecutions:\n- name: deploy\n  type: GoTemplate\n  template: |\n" +
			indent("deployItems:\n- name: deploy\n  type: "+v1alpha1.HelmDeployItemType+"\n  target: {import: cluster}\n  config:\n"+indent(config, 4), 4)
		raw, err := json.Marshal(map[string]any{"blueprint.yaml": blueprint})
		require.NoError(f.b, err)
		registration := &v1alpha1.DeployerRegistration{ObjectMeta: metav1.ObjectMeta{Name: name}}
		registration.Spec.DeployItemTypes = []string{"example.com/" + name}
		registration.Spec.InstallationTemplate.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON(raw)}
		require.NoError(f.b, f.scenes[0].Client().Create(f.scenes[0].ctx, registration))
		names = append(names, name)
	}
	return names
}

// cpu returns the CPU seconds that each group of processes has used so far.
func (f *fleet) cpu() map[string]float64 {
	first := f.scenes[0]
	used := map[string]float64{"controller": programs.FamilySeconds(f.controller.PID())}
	for _, agent := range f.agents {
		used["agents"] += programs.FamilySeconds(agent.PID())
	}
	for name, cluster := range map[string]*platform.Platform{"landscaper-cluster": first.Platform, "fence": first.fence} {
		used[name] = programs.CPUSeconds(cluster.Process(binaries.APIServer).PID()) + programs.CPUSeconds(cluster.Etcd().PID())
	}
	return used
}

// reportUsage reports what the processes have used since the measurement began, and how large ours are now.
func (f *fleet) reportUsage() {
	for name, used := range f.cpu() {
		f.b.ReportMetric(used-f.before[name], name+"-cpu-s")
	}
	var all, most int64
	for _, agent := range f.agents {
		_, own := agent.Memory()
		all, most = all+own, max(most, own)
	}
	f.b.ReportMetric(float64(all>>20)/float64(len(f.agents)), "MiB/agent")
	f.b.ReportMetric(float64(most>>20), "MiB-largest-agent")
	_, own := f.controller.Memory()
	f.b.ReportMetric(float64(own>>20), "controller-MiB")
}

// reportRequests reports what our processes asked of the landscaper cluster since a moment, for each Installation: reads, writes, and lost races.
func (f *fleet) reportRequests(since time.Time) {
	f.b.Helper()
	requests, err := f.scenes[0].Requests(f.scenes[0].ctx, since)
	require.NoError(f.b, err)
	counts := map[string]float64{}
	for _, request := range requests {
		who := "controller"
		if strings.HasPrefix(request.User, "system:serviceaccount:"+v1alpha1.EnvironmentNamespacePrefix) {
			who = "agent"
		} else if request.User != f.controller.Name() {
			continue
		}
		switch {
		case request.Code == http.StatusConflict:
			counts[who+"-conflicts"]++
		case request.Writes():
			counts[who+"-writes"]++
		case request.Verb != "watch":
			counts[who+"-reads"]++
		}
	}
	for name, count := range counts {
		f.b.ReportMetric(count/float64(*environments*registrations), name+"/installation")
	}
}
