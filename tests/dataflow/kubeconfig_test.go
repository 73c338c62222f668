// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/base64"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// identity tells who a kubeconfig in base64 is, by asking its cluster.
func (s *scene) identity(encoded string) string {
	s.T.Helper()
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	require.NoError(s.T, err)
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	require.NoError(s.T, err)
	direct, err := client.New(config, client.Options{})
	require.NoError(s.T, err)
	review := &authenticationv1.SelfSubjectReview{}
	require.NoError(s.T, direct.Create(s.Ctx, review))
	return review.Status.UserInfo.Username
}

// issuing is the spec of a root that exports what a template makes of its Target.
func issuing(kind, template string) object {
	return object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"exports":          dataExports("out"),
			"importExecutions": list{},
			"deployExecutions": list{object{"name": "default", "type": kind, "template": template}},
			"exportExecutions": goTemplate("exports: {out: {{ toJson (index .values.deployitems \"item\").out }} }"),
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
		"exports": object{"data": list{object{"name": "out", "dataRef": "out"}}},
	}
}

func TestServiceAccountKubeconfigFromTemplates(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot", Namespace: s.Namespace}}
	require.NoError(t, s.Client().Create(s.Ctx, account))
	const item = `{name: item, type: landscaper.gardener.cloud/mock, config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, ` +
		`kind: ProviderConfiguration, export: {out: `
	for name, template := range map[string]object{
		"go": issuing("GoTemplate", "deployItems:\n- "+item+
			`{{ toJson (getServiceAccountKubeconfigWithExpirationTimestamp "robot" "`+s.Namespace+`" 3600 .imports.cluster) }} }}}`),
		"spiff": issuing("Spiff", "deployItems:\n- "+item+
			`'(( getServiceAccountKubeconfigWithExpirationTimestamp("robot", "`+s.Namespace+`", 3600, imports.cluster) ))' }}}`),
	} {
		t.Run(name, func(t *testing.T) {
			template["exports"].(object)["data"].(list)[0].(object)["dataRef"] = "out-" + name
			s.install(name, template)
			s.succeeded(name)
			var issued struct {
				Kubeconfig          string `json:"kubeconfig"`
				ExpirationTimestamp int64  `json:"expirationTimestamp"`
			}
			require.NoError(t, json.Unmarshal([]byte(s.value("out-"+name)), &issued))
			assert.Equal(t, "system:serviceaccount:"+s.Namespace+":robot", s.identity(issued.Kubeconfig))
			assert.InDelta(t, time.Now().Add(time.Hour).Unix(), issued.ExpirationTimestamp, 600)
		})
	}
	s.install("absent", issuing("GoTemplate", `deployItems: [{name: {{ getServiceAccountKubeconfig "absent" "`+s.Namespace+`" 3600 .imports.cluster }}}]`))
	message := s.failed("absent").Message
	assert.Contains(t, message, s.Namespace+"/absent")
	assert.Contains(t, message, "404")
}
