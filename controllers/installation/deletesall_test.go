// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// conditional returns an Installation whose blueprint renders a deploy item, or a sub-installation, while the ConfigMap says that it is wanted.
func (s *stage) conditional(what string) *v1alpha1.Installation {
	child := fixture.JSONOf(object{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint"})
	blueprint := object{"imports": fixture.Imports(map[string]string{"on": "data"})}
	condition := func(text string) []any {
		return []any{object{"name": "default", "type": "GoTemplate", "template": `{{ if eq .imports.on "wanted" }}` + text + "{{ end }}"}}
	}
	switch what {
	case "deploy items":
		blueprint["deployExecutions"] = condition("deployItems:\n- {name: item, type: example.com/none, config: {}}\n")
	case "sub-installations":
		blueprint["subinstallationExecutions"] = condition("subinstallations:\n" +
			"- {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: InstallationTemplate, name: child, blueprint: {filesystem: {blueprint.yaml: '" + child + "'}}}\n")
	}
	inst := fixture.Following(&v1alpha1.Installation{ObjectMeta: s.named("root")})
	inst.Spec.Blueprint = fixture.InlineBlueprint(blueprint)
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "on", ConfigMapRef: &v1alpha1.LocalConfigMapReference{Name: "settings", Key: "on"}}}
	return inst
}

func TestAJobThatDeletesChildrenSaysSoBefore(t *testing.T) {
	for name, test := range map[string]struct {
		what string
		// edited are the deploy executions of a new blueprint; without them the import changes.
		edited []any
		want   string
	}{
		"all deploy items":      {"deploy items", nil, "DeletesAll the job deletes all deploy items with what they have deployed, because the deployExecutions of the blueprint render none with these imports: item"},
		"all sub-installations": {"sub-installations", nil, "DeletesAll the job deletes all sub-installations with what they have deployed, because the subinstallationExecutions of the blueprint render none with these imports: "},
		"no executions":         {"deploy items", []any{}, "DeletesAll the job deletes all deploy items with what they have deployed, because the blueprint has none any more: item"},
		"one of them": {"deploy items", []any{object{"name": "default", "type": "GoTemplate", "template": "deployItems:\n- {name: other, type: example.com/none, config: {}}\n"}},
			"Normal ItemsRemoved the job uninstalls deploy items that the blueprint does not make any more: item"},
	} {
		t.Run(name, func(t *testing.T) {
			what := test.what
			s := newStage(t)
			events := record.NewFakeRecorder(1000)
			s.stop()
			s.events = events
			s.start()
			settings := &corev1.ConfigMap{ObjectMeta: s.named("settings"), Data: map[string]string{"on": "wanted"}}
			s.create(settings, s.conditional(what))
			if what == "deploy items" {
				s.finish(s.execution("root", ""), v1alpha1.PhaseSucceeded)
			}
			first := s.ended("root", "", v1alpha1.PhaseSucceeded)
			if test.edited != nil {
				edit(s, &v1alpha1.Installation{ObjectMeta: s.named("root")}, func(root *v1alpha1.Installation) {
					root.Spec.Blueprint = fixture.InlineBlueprint(object{"deployExecutions": test.edited})
				})
			} else {
				edit(s, settings, func(settings *corev1.ConfigMap) { settings.Data["on"] = "unwanted" })
				s.annotate("root", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
			}
			if what == "deploy items" {
				s.finish(s.execution("root", first.Status.JobID), v1alpha1.PhaseSucceeded)
			}
			s.ended("root", first.Status.JobID, v1alpha1.PhaseSucceeded)

			s.stop()
			close(events.Events)
			var warned []string
			for event := range events.Events {
				if strings.Contains(event, protocol.ReasonDeletesAll) || strings.Contains(event, "ItemsRemoved") {
					warned = append(warned, event)
				}
			}
			require.NotEmpty(t, warned)
			assert.Contains(t, warned[0], test.want)
		})
	}
}
