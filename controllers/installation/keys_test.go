// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// deployWith returns the deployExecutions of leaf with a text of the template replaced.
func deployWith(old, replaced string) object {
	parts := object{"deployExecutions": deploying("x")}
	execution := parts["deployExecutions"].([]any)[0].(object)
	execution["template"] = strings.Replace(execution["template"].(string), old, replaced, 1)
	return parts
}

func TestUnknownKeysOfBlueprints(t *testing.T) {
	const noEffect = ": the key is unknown and has no effect; check its spelling or remove it"
	for name, test := range map[string]struct {
		parts          object
		strict         bool
		refused, shown string
	}{
		"near, in the blueprint":         {object{"deployExecution": deploying("x")}, false, "deployExecution: the key is unknown; did you mean deployExecutions?", ""},
		"near, in an execution":          {object{"deployExecutions": []any{object{"nam": "a", "type": "GoTemplate", "template": "{}"}}}, false, "deployExecutions[0].nam: the key is unknown; did you mean deployExecutions[0].name?", ""},
		"near, in what a template makes": {deployWith("deployItems", "deployItem"), false, "deployItem: the key is unknown; did you mean deployItems?", ""},
		"near, in a deploy item":         {deployWith("config", "confg"), false, `"item": deployItems[0].confg: the key is unknown; did you mean deployItems[0].config?`, ""},
		"without effect":                 {object{"colour": 1, "deployExecutions": deploying("x")}, false, "", "blueprint: colour" + noEffect},
		"without effect, in an item":     {deployWith("config", "colour: red\n  config"), false, "", `blueprint: deployExecutions: "item": deployItems[0].colour` + noEffect},
		"published":                      {object{"jsonSchema": "https://…", "deployExecutions": deploying("x")}, false, "", "blueprint: jsonSchema" + noEffect},
		"refused by the operator":        {object{"colour": 1, "deployExecutions": deploying("x")}, true, "blueprint: colour" + noEffect, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			if test.strict {
				s.stop()
				s.strict = true
				s.start()
			}
			s.create(s.leaf("web", "x"))
			s.annotate("web", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
			before := s.succeed("web", "")
			edit(s, before, func(inst *v1alpha1.Installation) { inst.Spec.Blueprint = fixture.InlineBlueprint(test.parts) })
			s.annotate("web", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
			if test.refused != "" {
				failed := s.ended("web", before.Status.JobID, v1alpha1.PhaseFailed)
				assert.Contains(t, failed.Status.LastError.Message, test.refused)
				assert.True(t, conditions.IsStalled(failed))
				until(s, &v1alpha1.Execution{ObjectMeta: s.named("web")}, func(execution *v1alpha1.Execution) bool {
					return len(execution.Spec.DeployItems) == 1 && execution.Status.JobID == before.Status.JobID
				})
				return
			}
			ended := s.succeed("web", before.Status.JobID)
			assert.Equal(t, test.shown, conditions.GetMessage(ended, v1alpha1.UnknownKeysCondition))
			s.quiet()

			edit(s, ended, func(inst *v1alpha1.Installation) { inst.Spec.Blueprint = fixture.InlineBlueprint(deployWith("x", "y")) })
			s.annotate("web", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
			assert.False(t, conditions.Has(s.succeed("web", ended.Status.JobID), v1alpha1.UnknownKeysCondition))
		})
	}
}
