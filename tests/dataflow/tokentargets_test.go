// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// worker is the ServiceAccount that these Targets act as.
const worker = "worker"

// account makes the ServiceAccount on a cluster; forms are those of Targets that it allows.
func (s *scene) account(c client.Client, forms string) *corev1.ServiceAccount {
	s.T.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: s.Named(worker)}
	account.Annotations = map[string]string{v1alpha1.TargetTokensAnnotation: forms}
	require.NoError(s.T, c.Create(s.Ctx, account))
	return account
}

// admit makes a subject an administrator of a cluster.
func (s *scene) admit(c client.Client, subject rbacv1.Subject) {
	s.T.Helper()
	require.NoError(s.T, c.Create(s.Ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: []rbacv1.Subject{subject},
	}))
}

func (s *scene) workerSubject() rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: worker}
}

// token requests a token of the ServiceAccount.
func (s *scene) token(c client.Client, account *corev1.ServiceAccount, audiences ...string) string {
	s.T.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	require.NoError(s.T, c.SubResource("token").Create(s.Ctx, account, request))
	return request.Status.Token
}

// deployThrough deploys a ConfigMap through the Target "cluster".
func (s *scene) deployThrough() {
	s.T.Helper()
	s.install("root", onCluster("deployItems:\n"+configItem("item", "{import: cluster}", "cm", "there")))
	s.succeeded("root")
}

// writer returns who wrote the ConfigMap last.
func (s *scene) writers(cluster *platform.Cluster, since time.Time) map[string]bool {
	s.T.Helper()
	requests, err := cluster.Requests(s.Ctx, since)
	require.NoError(s.T, err)
	names := map[string]bool{}
	for _, request := range requests {
		if request.Resource == "configmaps" && request.Namespace == s.Namespace && request.Name == "cm" && request.Writes() {
			names[request.User] = true
		}
	}
	return names
}

// elsewhere starts a second cluster with the namespace of the scene.
func (s *scene) elsewhere(options platform.Options) *platform.Cluster {
	s.T.Helper()
	options.Audit = true
	cluster, err := s.SecondCluster(s.Ctx, s.Namespace, options)
	require.NoError(s.T, err)
	require.NoError(s.T, cluster.Client().Create(s.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}))
	return cluster
}

func (s *scene) deployedOn(c client.Client) string {
	s.T.Helper()
	found := &corev1.ConfigMap{}
	require.NoError(s.T, c.Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: "cm"}, found))
	return found.Data["value"]
}

func TestA29TokenTarget(t *testing.T) {
	s := newTwoSites(t)
	far := s.far
	account := s.account(far.Client(), "")
	s.admit(far.Client(), s.workerSubject())
	config := rest.AnonymousClientConfig(far.RestConfig)
	config.BearerToken = s.token(far.Client(), account)
	s.TargetOf("cluster", config)
	since := time.Now()
	s.deployThrough()
	assert.Equal(t, "there", s.deployedOn(far.Client()))
	assert.Equal(t, map[string]bool{"system:serviceaccount:" + s.Namespace + ":" + worker: true}, s.writers(far, since))
}

// TestA30SelfTarget is row B716, too.
func TestA30SelfTarget(t *testing.T) {
	s := newScene(t)
	s.account(s.Client(), "selfConfig")
	s.admit(s.Client(), s.workerSubject())
	s.Put("Target", "cluster", object{"spec": object{"type": clusterType, "config": object{
		"selfConfig": object{"serviceAccount": object{"name": worker}, "expirationSeconds": 3600},
	}}})
	since := time.Now()
	s.deployThrough()
	assert.Equal(t, "there", s.configValue("cm"))
	assert.Equal(t, map[string]bool{"system:serviceaccount:" + s.Namespace + ":" + worker: true}, s.writers(s.Cluster, since))
}

// audience is what tokens for the second cluster are for, and trusted begins the names that it gives to their users.
const audience, trusted = "faraway", "landscape:"

// publishIssuer serves the documents by which others verify the tokens of the landscaper cluster. It returns the address of the first, and
// the authority of the server.
func (s *scene) publishIssuer() (address string, authority []byte) {
	s.T.Helper()
	sender, err := rest.HTTPClientFor(s.RestConfig)
	require.NoError(s.T, err)
	read := func(path string) object {
		answer, err := sender.Get(s.RestConfig.Host + path)
		require.NoError(s.T, err)
		defer answer.Body.Close()
		var document object
		require.NoError(s.T, json.NewDecoder(answer.Body).Decode(&document))
		return document
	}
	documents := map[string]object{"/discovery": read("/.well-known/openid-configuration"), "/keys": read("/openid/v1/jwks")}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(documents[r.URL.Path])
	}))
	s.T.Cleanup(server.Close)
	documents["/discovery"]["jwks_uri"] = server.URL + "/keys"
	return server.URL + "/discovery", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// trusting starts a second cluster that trusts the tokens of the landscaper cluster.
func (s *scene) trusting() *platform.Cluster {
	s.T.Helper()
	discovery, authority := s.publishIssuer()
	raw, err := json.Marshal(object{
		"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration",
		"jwt": list{object{
			"issuer": object{
				"url": platform.DefaultIssuer, "discoveryURL": discovery, "certificateAuthority": string(authority), "audiences": list{audience},
			},
			"claimMappings": object{"username": object{"claim": "sub", "prefix": trusted}},
		}},
	})
	require.NoError(s.T, err)
	path := filepath.Join(s.T.TempDir(), "authentication.yaml")
	require.NoError(s.T, os.WriteFile(path, raw, 0o600))
	return s.elsewhere(platform.Options{Issuer: "https://faraway.example.com", APIServerArgs: []string{"--authentication-config=" + path}})
}

// awaitTrust waits until the second cluster has read the keys.
func (s *scene) awaitTrust(far *platform.Cluster, token string) {
	s.T.Helper()
	config := rest.AnonymousClientConfig(far.RestConfig)
	config.BearerToken = token
	require.Eventually(s.T, func() bool {
		bearer, err := client.New(config, client.Options{})
		if err != nil {
			return false
		}
		review := &authenticationv1.SelfSubjectReview{}
		return bearer.Create(s.Ctx, review) == nil && review.Status.UserInfo.Username == s.trustedName()
	}, landscapePatience, tick)
}

func (s *scene) trustedName() string {
	return fmt.Sprintf("%ssystem:serviceaccount:%s:%s", trusted, s.Namespace, worker)
}

// TestA31OIDCTarget is row B717, too.
func TestA31OIDCTarget(t *testing.T) {
	s := newScene(t)
	account := s.account(s.Client(), "oidcConfig")
	far := s.trusting()
	s.admit(far.Client(), rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: s.trustedName()})
	s.awaitTrust(far, s.token(s.Client(), account, audience))
	s.Put("Target", "cluster", object{"spec": object{"type": clusterType, "config": object{"oidcConfig": object{
		"server": far.RestConfig.Host, "caData": far.RestConfig.CAData, "audience": list{audience},
		"serviceAccount": object{"name": worker}, "expirationSeconds": 3600,
	}}}})
	since := time.Now()
	s.deployThrough()
	assert.Equal(t, "there", s.deployedOn(far.Client()))
	assert.Equal(t, map[string]bool{s.trustedName(): true}, s.writers(far, since))

	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	require.Error(t, far.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: "cm"}, &corev1.ConfigMap{}))
}
