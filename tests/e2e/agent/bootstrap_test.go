// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// deployerChart is a manifest deployer for a fence: a Deployment, its access to the landscaper cluster and its rights to read the access to its own.
var deployerChart = map[string]string{
	"templates/all.yaml": `
apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .Release.Name }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}
subjects:
- {kind: ServiceAccount, name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {kubeconfig: {{ .Values.kubeconfig | quote }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec:
      serviceAccountName: {{ .Release.Name }}
      containers:
      - name: landscaper
        image: landscaper
        args: [deployer, manifest, "--environment={{ .Values.environment }}", "--identity={{ .Release.Name }}"]
`,
}

// admit makes the access of a deployer of the environment to the landscaper cluster, and returns its kubeconfig as the landscaper cluster makes it.
func (s *scene) admit(name string) []byte {
	s.t.Helper()
	account := &corev1.ServiceAccount{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"}, ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: name},
	}
	role := &rbacv1.ClusterRole{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "update", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"secrets", "events"}, Verbs: []string{"get", "create", "update", "patch", "delete"}},
		},
	}
	binding := &rbacv1.ClusterRoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRoleBinding"}, ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.home(), Name: name}},
	}
	require.NoError(s.t, s.Apply(s.ctx, account, role, binding))
	landscaper := s.registered().Spec.LandscaperClusterRestConfig
	kubeconfig, err := platform.KubeconfigFor(&rest.Config{
		Host: landscaper.Host, BearerToken: s.tokenOf(s.Cluster, s.home(), name), TLSClientConfig: rest.TLSClientConfig{CAData: landscaper.CAData},
	})
	require.NoError(s.t, err)
	config, err := clientcmd.Load(kubeconfig)
	require.NoError(s.t, err)
	for _, cluster := range config.Clusters {
		cluster.TLSServerName, cluster.ProxyURL = landscaper.ServerName, landscaper.ProxyURL
	}
	kubeconfig, err = clientcmd.Write(*config)
	require.NoError(s.t, err)
	return kubeconfig
}

// registration makes what the landscaper cluster makes for a deployer of the environment: its access, and the Installation.
func (s *scene) registration(name string) {
	s.t.Helper()
	content, err := json.Marshal(map[string]string{"kubeconfig": string(s.admit(name))})
	require.NoError(s.t, err)
	raw := v1alpha1.NewAnyJSON(content)
	require.NoError(s.t, s.Apply(s.ctx, &v1alpha1.Target{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Target"},
		ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: name},
		Spec:       v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &raw},
	}))
	s.install(s.home(), name, v1alpha1.HelmDeployItemType, chartItem(s.t, name,
		"environment: {{ .imports.cluster.metadata.name }}\nkubeconfig: {{ .imports.landscaperCluster.spec.config.kubeconfig | toJson }}\n", deployerChart),
		map[string]string{"cluster": s.environment, "landscaperCluster": name})
}

// runDeployment does what a kubelet does: it runs what a Deployment behind the fence says, and says that it runs.
func (s *scene) runDeployment(name string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}}
	require.NoError(s.t, s.fence.Await(ctx, deployment, func() bool { return deployment.Generation > 0 }))
	secret := &corev1.Secret{}
	require.NoError(s.t, s.fence.Client().Get(s.ctx, client.ObjectKeyFromObject(deployment), secret))
	path := filepath.Join(s.dir, name+"-landscaper.kubeconfig")
	require.NoError(s.t, os.WriteFile(path, secret.Data["kubeconfig"], 0o600))
	pod := deployment.Spec.Template.Spec
	s.start(name, pod.ServiceAccountName, append(pod.Containers[0].Args, "--landscaper-kubeconfig="+path)...)
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now()},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now()},
		},
	}
	require.NoError(s.t, s.fence.Client().Status().Update(s.ctx, deployment))
}

// secretsOfTheFence are credentials of the fenced cluster.
func (s *scene) secretsOfTheFence() map[string]string {
	s.t.Helper()
	secrets, err := s.fence.PrivateKeys()
	require.NoError(s.t, err)
	access := &corev1.Secret{}
	require.NoError(s.t, s.fence.Client().Get(s.ctx, client.ObjectKey{Namespace: system, Name: s.environment + "-target-access"}, access))
	config, err := clientcmd.Load(access.Data["kubeconfig"])
	require.NoError(s.t, err)
	secrets["token of the deployers"] = config.AuthInfos["deployer"].Token
	for name, secret := range secrets {
		require.Greater(s.t, len(secret), 40, name)
	}
	return secrets
}

func TestGateAgentBringsDeployersBehindTheFence(t *testing.T) {
	s := newScene(t, "fence")
	started := time.Now()
	s.startController()
	agent := s.startAgent()
	s.hostTarget()
	s.registration("manifest-fence")
	s.runDeployment("manifest-fence")
	s.succeeded(s.home(), "manifest-fence")

	require.NoError(t, s.Client().Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	s.target("shop", "behind")
	s.install("shop", "greeting", v1alpha1.ManifestDeployItemType, manifestItem("greeting", "hello"), map[string]string{"cluster": "behind"})
	s.succeeded("shop", "greeting")
	assert.Equal(t, map[string]string{"text": "hello"}, s.configMap("greeting"))

	for name, way := range map[string]faults.WireMode{"reset": faults.Reset, "blackhole": faults.Blackhole} {
		t.Run("a partition by "+name+" delays the deployer only", func(t *testing.T) {
			s.centre.Become(way)
			agent.awaitConnected(false)
			s.install("shop", "greeting", v1alpha1.ManifestDeployItemType, manifestItem("greeting", name), map[string]string{"cluster": "behind"})
			s.centre.Become(faults.Whole)
			began := time.Now()
			s.succeeded("shop", "greeting")
			took := time.Since(began)
			t.Logf("the job of a partition by %s has succeeded %s after it healed", name, took)
			assert.Less(t, took, pace.Within(healed))
			assert.Equal(t, map[string]string{"text": name}, s.configMap("greeting"))
			agent.awaitConnected(true)
		})
	}
	t.Run("no credential of the fence is outside of it", func(t *testing.T) {
		search := s.secretsOfTheFence()
		search["what is there"] = s.environment + "-target-access"
		found, err := s.Stores(search)
		require.NoError(t, err)
		assert.Equal(t, []string{"what is there"}, found)
	})
	t.Run("the rights in flux/ suffice for the agent", func(t *testing.T) {
		for name, cluster := range map[string]*platform.Cluster{"landscaper": s.Cluster, "fence": s.fence.Cluster} {
			requests, err := cluster.Requests(s.ctx, started)
			require.NoError(t, err)
			for _, request := range requests {
				if account, isOne := strings.CutPrefix(request.User, "system:serviceaccount:"); !isOne || !strings.Contains(account, ":landscaper-agent") {
					continue // with the access of the deployers namespaces are tried after the cluster
				}
				assert.NotEqual(t, http.StatusForbidden, request.Code, "%s: %s may not %s %s%s %s/%s",
					name, request.User, request.Verb, request.Resource, request.Subresource, request.Namespace, request.Name)
			}
		}
	})
}
