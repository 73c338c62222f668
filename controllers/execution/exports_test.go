// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// export ends the job of an item well, with a reference to its exports.
func (b *bench) export(template, secret string) {
	b.t.Helper()
	b.deploy(template, func(item *v1alpha1.DeployItem) {
		item.Status.ExportReference = &v1alpha1.ObjectReference{Name: secret}
		item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseSucceeded, item.Status.JobID
	})
	b.settle()
}

func (b *bench) exported() *v1alpha1.DataObject {
	b.t.Helper()
	object := &v1alpha1.DataObject{}
	key := client.ObjectKey{Namespace: namespace, Name: storage.DataName(storage.ExecutionScope("one"), "")}
	require.NoError(b.t, b.api.Get(b.t.Context(), key, object))
	return object
}

func TestExportsOfAllItemsAreCollected(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t"))
	b.secretOf("exports-a", `{"host":"x"}`)
	b.start("1")
	b.end("b", v1alpha1.PhaseSucceeded)
	b.export("a", "exports-a")
	done := b.requirePhase(v1alpha1.PhaseSucceeded)
	assert.JSONEq(t, `{"a":{"host":"x"},"b":null}`, string(b.exported().Data.RawMessage))
	assert.Equal(t, b.exported().Name, done.Status.ExportReference.Name)
	assert.True(t, metav1.IsControlledBy(b.exported(), done))
	b.requireSteady()
}

func TestE05ExportsThatCannotBeReadFailTheJob(t *testing.T) {
	for name, c := range map[string]struct{ secret, content, want string }{
		"no such Secret":  {"missing", "", "does not exist"},
		"no name":         {"", "", "is not a valid name of a Secret"},
		"a path":          {"../../secrets/other", "", "is not a valid name of a Secret"},
		"long":            {strings.Repeat("x", 1<<20), "", "is not a valid name of a Secret"},
		"no JSON or YAML": {"exports", "{", "key config"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			if c.content != "" {
				b.secretOf(c.secret, c.content)
			}
			b.start("1")
			b.export("a", c.secret)
			failed := b.requirePhase(v1alpha1.PhaseFailed)
			assert.Contains(t, failed.Status.LastError.Message, c.want)
			assert.NotContains(t, failed.Status.LastError.Message, "{")
			b.requireSteady()
		})
	}
}

func TestExportsThatNoDataObjectHoldsFailTheJob(t *testing.T) {
	var templates []v1alpha1.DeployItemTemplate
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		templates = append(templates, template(name, "t"))
	}
	b := newBench(t, templates...)
	b.secretOf("exports", `"`+strings.Repeat("x", 1000<<10)+`"`)
	b.start("1")
	for _, template := range templates {
		b.export(template.Name, "exports")
	}
	failed := b.requirePhase(v1alpha1.PhaseFailed)
	assert.Contains(t, failed.Status.LastError.Message, "all deploy items together export more than 4194304 bytes")
	b.requireSteady()
}

func TestE13ExportsFollowTheirExecution(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.secretOf("exports", `{"host":"x"}`)
	b.start("1")
	b.export("a", "exports")
	object := b.exported()
	object.OwnerReferences[0].UID = "of an earlier one"
	require.NoError(t, b.api.Update(t.Context(), object))
	b.start("2")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	assert.NotEqual(t, object.UID, b.exported().UID, "the old one is about to be collected as garbage, with whatever it holds")
	assert.True(t, metav1.IsControlledBy(b.exported(), b.execution()), "else garbage collection takes what an Execution has just exported")

	object = b.exported()
	object.Data = v1alpha1.NewAnyJSON([]byte(`{"a":"forged"}`))
	require.NoError(t, b.api.Update(t.Context(), object))
	b.start("3")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	assert.JSONEq(t, `{"a":{"host":"x"}}`, string(b.exported().Data.RawMessage), "content decides, not the annotation with its hash")
	version := b.exported().ResourceVersion
	b.start("4")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	assert.Equal(t, version, b.exported().ResourceVersion, "what is as wanted is not written")
}

func TestDataObjectOfOthersWithOurNameIsLeftAlone(t *testing.T) {
	controller := true
	for name, owners := range map[string][]metav1.OwnerReference{
		"without owner":              nil,
		"of another Execution":       {{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Execution", Name: "other", UID: "u", Controller: &controller}},
		"of a kind of another group": {{APIVersion: "example.com/v1", Kind: "Execution", Name: "one", UID: "u", Controller: &controller}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.secretOf("exports", `{"host":"x"}`)
			require.NoError(t, b.api.Create(t.Context(), &v1alpha1.DataObject{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: storage.DataName(storage.ExecutionScope("one"), ""), OwnerReferences: owners},
				Data:       v1alpha1.NewAnyJSON([]byte(`"theirs"`)),
			}))
			b.start("1")
			b.export("a", "exports")
			failed := b.requirePhase(v1alpha1.PhaseFailed)
			assert.Equal(t, "ExportExists", failed.Status.LastError.Reason)
			assert.Equal(t, `"theirs"`, string(b.exported().Data.RawMessage))
			b.requireSteady()
		})
	}
}
