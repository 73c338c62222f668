// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// planted is a secret value that must appear in Secrets, and in what its users deploy, only.
const planted = "planted-pass-9071992547409930001"

// vault is the spec of an Installation that exports what a deploy item exports.
func vault(isSensitive bool, password string) object {
	export := object{"name": "password", "schema": object{"type": "string"}}
	if isSensitive {
		export["sensitive"] = true
	}
	return object{
		"blueprint": inline(object{
			"exports":          list{export},
			"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{password: "+password+"}")),
			"exportExecutions": goTemplate("exports: {password: '{{ .values.deployitems.item.password }}'}"),
		}),
		"exports": object{"data": refs("password")},
	}
}

// passwordUser is the spec of a root that imports the password and passes it on to a sub-installation, which deploys it.
func passwordUser() object {
	return object{
		"blueprint": inline(object{
			"imports": list{object{"name": "password", "schema": object{"type": "string"}}, object{"name": "cluster", "targetType": clusterType}},
			"subinstallations": list{object{
				"name": "sub",
				"blueprint": inTemplate(object{
					"imports":          list{object{"name": "in", "schema": object{"type": "string"}}, object{"name": "cluster", "targetType": clusterType}},
					"deployExecutions": goTemplate("deployItems:\n" + configItem("item", "{import: cluster}", "deployed", "'{{ .imports.in }}'")),
				}),
				"imports": object{
					"data":    list{object{"name": "in", "dataRef": "password"}},
					"targets": list{object{"name": "cluster", "target": "cluster"}},
				},
			}},
		}),
		"imports": object{
			"data":    list{object{"name": "password", "dataRef": "password"}},
			"targets": list{object{"name": "cluster", "target": "cluster"}},
		},
	}
}

// secretOf returns the value that the Secret of a DataObject holds, empty where the DataObject names none.
func (s *scene) secretOf(data *v1alpha1.DataObject) string {
	s.T.Helper()
	if data.SecretReference == nil {
		return ""
	}
	secret := &corev1.Secret{}
	require.NoError(s.T, s.Client().Get(s.Ctx, s.key(data.SecretReference.Name), secret))
	return string(secret.Data[data.SecretReference.Key])
}

// shows returns where the planted value can be read beside Secrets: in DataObjects, events and statuses.
func (s *scene) shows() (places []string) {
	s.T.Helper()
	for _, kind := range []client.ObjectList{
		&v1alpha1.DataObjectList{}, &v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &corev1.EventList{},
	} {
		require.NoError(s.T, s.Client().List(s.Ctx, kind, client.InNamespace(s.Namespace)))
		for _, object := range protocol.ItemsOf(kind) {
			raw, err := json.Marshal(object)
			require.NoError(s.T, err)
			var parts map[string]any
			require.NoError(s.T, json.Unmarshal(raw, &parts))
			delete(parts, "spec") // what a person or a template wrote
			delete(parts, "metadata")
			raw, err = json.Marshal(parts)
			require.NoError(s.T, err)
			if strings.Contains(string(raw), planted) {
				places = append(places, object.GetName())
			}
		}
	}
	return places
}

func TestSensitiveExportsAreKeptInSecrets(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("vault", vault(true, planted))
	s.succeeded("vault")
	s.install("user", passwordUser())
	s.succeeded("user")

	assert.Equal(t, planted, s.configValue("deployed"))
	data := &v1alpha1.DataObjectList{}
	require.NoError(t, s.Client().List(s.Ctx, data, client.InNamespace(s.Namespace)))
	require.Len(t, data.Items, 4, "the exports of the deploy item, that of the installation, and the copies of both importers")
	for i := range data.Items {
		assert.Contains(t, s.secretOf(&data.Items[i]), planted, data.Items[i].Name)
	}
	assert.Empty(t, s.shows())
	s.RequireStandstill()

	s.install("vault", vault(true, "another"))
	require.Eventually(t, func() bool { return s.configValue("deployed") == "another" }, landscapePatience, tick)
	s.RequireStandstill()
	s.RequireJobs(2, "vault", "user")

	exported := s.dataObject("password")
	require.True(t, s.exists(exported))
	s.Delete(&corev1.Secret{ObjectMeta: s.Named(exported.SecretReference.Name)})
	require.Eventually(t, func() bool { return len(s.Witness.Jobs(s.Namespace, "vault")) == 3 }, landscapePatience, tick)
	s.succeeded("vault")
	assert.Contains(t, s.secretOf(exported), "another", "the Secret comes back")
	s.RequireStandstill()

	s.Delete(s.Installation("user"))
	s.Gone(&v1alpha1.Installation{ObjectMeta: s.Named("user")})
	s.Delete(s.Installation("vault"))
	s.Gone(&v1alpha1.Installation{ObjectMeta: s.Named("vault")})
	require.Eventually(t, func() bool {
		secrets := &corev1.SecretList{}
		require.NoError(t, s.Client().List(s.Ctx, secrets, client.InNamespace(s.Namespace)))
		for i := range secrets.Items {
			if protocol.ControllerOf(&secrets.Items[i], "DataObject") != nil {
				return false
			}
		}
		return true
	}, landscapePatience, tick, "Secrets go with their DataObjects")
}

func TestAnExportThatBecomesSensitiveMovesOnce(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("vault", vault(false, planted))
	s.succeeded("vault")
	s.install("user", passwordUser())
	s.succeeded("user")
	assert.Contains(t, s.value("password"), planted)

	s.install("vault", vault(true, planted))
	require.Eventually(t, func() bool { return len(s.Witness.Jobs(s.Namespace, "vault")) == 2 }, landscapePatience, tick)
	s.succeeded("vault")
	data := s.dataObject("password")
	require.True(t, s.exists(data))
	assert.Contains(t, s.secretOf(data), planted)
	assert.NotContains(t, s.value("password"), planted)
	require.Eventually(t, func() bool { return len(s.shows()) == 0 }, landscapePatience, tick, "the copies of importers move, too")
	s.RequireStandstill()
	s.RequireJobs(1, "user")

	s.install("vault", vault(false, planted))
	require.Eventually(t, func() bool { return len(s.Witness.Jobs(s.Namespace, "vault")) == 3 }, landscapePatience, tick)
	s.succeeded("vault")
	assert.Contains(t, s.value("password"), planted)
	assert.False(t, s.exists(&corev1.Secret{ObjectMeta: s.Named(data.SecretReference.Name)}))
	s.RequireStandstill()
	s.RequireJobs(1, "user")
}

func TestADataObjectOfAPersonNamesASecret(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	secret := &corev1.Secret{ObjectMeta: s.Named("mine"), StringData: map[string]string{"pass": planted}}
	require.NoError(t, s.Client().Create(s.Ctx, secret))
	s.Put("DataObject", "password", object{"secretRef": object{"name": "mine", "key": "pass"}})
	s.installWith("user", passwordUser(), object{v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true"})
	s.succeeded("user")
	assert.Equal(t, planted, s.configValue("deployed"))
	assert.Empty(t, s.shows())
	s.RequireStandstill()

	secret.Data = map[string][]byte{"pass": []byte("another")}
	require.NoError(t, s.Client().Update(s.Ctx, secret))
	require.Eventually(t, func() bool { return s.configValue("deployed") == "another" }, landscapePatience, tick)
	s.RequireStandstill()
	s.RequireJobs(2, "user")
}
