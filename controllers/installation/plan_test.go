// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// TestErrorsThatTemplatesWriteShowNoSensitiveImport has what an import execution says of two imports, one of which is sensitive.
func TestErrorsThatTemplatesWriteShowNoSensitiveImport(t *testing.T) {
	s := newScope(&v1alpha1.Installation{}, time.Unix(1, 0))
	s.Inputs = inputs.Inputs{Blueprint: &inputs.Blueprint{Document: &model.Blueprint{}}, Imports: &inputs.Collected{Sensitive: map[string]bool{"password": true}}}
	s.content = &content{values: &render.Values{Imports: render.Imports{Data: map[string]any{"password": "S3cr3tV4lue", "host": "db.example.com"}}}}

	shown := s.withoutSecrets(render.FailureOf(&render.Error{Reason: render.ReasonImportValidationFailed, Err: errors.New("bad S3cr3tV4lue for db.example.com")}))

	require.EqualError(t, shown, "bad [masked] for db.example.com")
	var problem *render.Error
	require.ErrorAs(t, shown, &problem)
	assert.Equal(t, render.ReasonImportValidationFailed, problem.Reason)
}

func TestInputsThatAreNotThereAreLookedForAgain(t *testing.T) {
	p := newScope(fixture.Importing(), time.Unix(1, 0))
	var failure *protocol.Failure
	require.ErrorAs(t, with(t).readInputs(t.Context(), p), &failure)
	assert.Equal(t, jobs.ReasonImportNotFound, failure.Reason)
	assert.Equal(t, inputs.ImportGrace, p.requeue)
	assert.Nil(t, p.content)
}

func TestInputsThatAreReadAgainLeaveNoTrace(t *testing.T) {
	p := newScope(fixture.Importing(), time.Unix(1, 0))
	p.inst.Status.ImportsHash = "of the children"
	require.NoError(t, with(t, fixture.DataObject("2")).recollect(t.Context(), p))
	assert.Equal(t, map[string]any{"value": int64(2)}, p.Imports.Values.Data)
	assert.NotNil(t, p.content)
	assert.Equal(t, "of the children", p.inst.Status.ImportsHash)
}

func TestE17StateSecretsAreNotRememberedForEver(t *testing.T) {
	m := &Reconciler{}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "1", ResourceVersion: "7"}}
	m.states.Created(made)
	other := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "2", ResourceVersion: "9"}}
	m.seen("ConfigMap", other)
	assert.Positive(t, m.states.Unseen(client.ObjectKeyFromObject(made)), "only Secrets count")
	m.seen("Secret", &metav1.PartialObjectMetadata{ObjectMeta: made.ObjectMeta})
	assert.Zero(t, m.states.Unseen(client.ObjectKeyFromObject(made)))
}

func TestSensitiveImportsAndExports(t *testing.T) {
	for name, tc := range map[string]struct {
		imports         []model.ImportDefinition
		exports         []model.ExportDefinition
		read            map[string]bool
		mapped          bool
		export          bool
		isImport, isOut bool
	}{
		"nothing says it":                            {},
		"the blueprint says it of the import":        {imports: []model.ImportDefinition{{Name: "value", Sensitive: true}}, isImport: true},
		"of a conditional import":                    {imports: []model.ImportDefinition{{Name: "a", ConditionalImports: []model.ImportDefinition{{Name: "value", Sensitive: true}}}}, isImport: true},
		"of another import":                          {imports: []model.ImportDefinition{{Name: "a", Sensitive: true}}},
		"the import comes from a Secret":             {read: map[string]bool{"value": true}, isImport: true},
		"another import does":                        {read: map[string]bool{"other": true}},
		"a mapping may use another":                  {read: map[string]bool{"other": true}, mapped: true, isImport: true},
		"the blueprint says it of the export":        {exports: []model.ExportDefinition{{Name: "value", Sensitive: true}}, isOut: true},
		"of another export":                          {exports: []model.ExportDefinition{{Name: "a", Sensitive: true}}},
		"a mapping may use another export":           {exports: []model.ExportDefinition{{Name: "a", Sensitive: true}}, mapped: true, isOut: true},
		"the installation says it of its own export": {export: true, isOut: true},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "value", DataRef: "value", Sensitive: tc.export}}
			if tc.mapped {
				inst.Spec.ImportDataMappings = map[string]v1alpha1.AnyJSON{"value": {}}
				inst.Spec.ExportDataMappings = map[string]v1alpha1.AnyJSON{"value": {}}
			}
			p := &scope{inst: inst, Inputs: inputs.Inputs{
				Blueprint: &inputs.Blueprint{Document: &model.Blueprint{Imports: tc.imports, Exports: tc.exports}},
				Imports:   &inputs.Collected{Sensitive: tc.read},
			}}
			assert.Equal(t, tc.isImport, p.importIsSensitive("value"))
			assert.Equal(t, tc.isOut, p.exportIsSensitive(inst.Spec.Exports.Data[0]))
			assert.Equal(t, len(tc.exports) > 0 || tc.export, p.hasSensitiveExports())
		})
	}
}

// TestScopesAreReadForExportsWithoutCopies has objects in the scope that nobody looks for.
func TestScopesAreReadForExportsWithoutCopies(t *testing.T) {
	labels := map[string]string{
		v1alpha1.DataObjectContextLabel: storage.InstallationScope("root"), v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceImport,
		v1alpha1.DataObjectKeyLabel: "in",
	}
	meta := metav1.ObjectMeta{Namespace: "n", Name: "in", Labels: labels}
	target := &v1alpha1.Target{ObjectMeta: meta, Status: v1alpha1.TargetStatus{ObservedGeneration: 3}}
	m := with(t, &v1alpha1.DataObject{ObjectMeta: meta, Data: v1alpha1.NewAnyJSON([]byte("1"))}, target)
	cache, reads := fixture.Counting(m.Client.(client.WithWatch))
	m.Client = cache
	seen, err := m.exportInputs(t.Context(), &scope{inst: fixture.Working("root", "1", "job")})
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"*v1alpha1.DataObjectList": 1, "*v1alpha1.TargetList": 1}, reads)
	assert.Equal(t, map[string]any{"in": int64(1)}, seen.DataObjects)
	shown, _ := seen.Targets["in"].(map[string]any)
	assert.Equal(t, "Target", shown["kind"])
	assert.Equal(t, v1alpha1.GroupVersion.String(), shown["apiVersion"])
	assert.NotContains(t, shown, "status")
}
