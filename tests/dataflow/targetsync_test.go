// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// syncScene is a scene whose TargetSync reads the namespace of the same name of the second cluster.
type syncScene struct{ *twoSites }

func newSyncScene(t *testing.T) *syncScene {
	t.Helper()
	s := &syncScene{newTwoSites(t)}
	s.giveAccess(s.access)
	return s
}

// giveAccess puts a kubeconfig of the source into the Secret that TargetSyncs of the scene name.
func (s *syncScene) giveAccess(config *rest.Config) {
	s.T.Helper()
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.T, err)
	s.keep(s.Client(), &corev1.Secret{ObjectMeta: s.Named("source"), Data: map[string][]byte{"kubeconfig": kubeconfig}})
}

// keep creates a Secret or replaces its data.
func (s *syncScene) keep(c client.Client, secret *corev1.Secret) {
	s.T.Helper()
	err := c.Create(s.Ctx, secret.DeepCopy())
	if err != nil {
		present := &corev1.Secret{}
		require.NoError(s.T, c.Get(s.Ctx, client.ObjectKeyFromObject(secret), present))
		present.Data = secret.Data
		require.NoError(s.T, c.Update(s.Ctx, present))
	}
}

// known makes a Secret on the source that holds a kubeconfig.
func (s *syncScene) known(name, kubeconfig string) *corev1.Secret {
	s.T.Helper()
	secret := &corev1.Secret{ObjectMeta: s.Named(name), Data: map[string][]byte{"kubeconfig": []byte(kubeconfig), "more": []byte("x")}}
	s.keep(s.far.Client(), secret)
	return secret
}

// sync applies a TargetSync.
func (s *syncScene) sync(name string, spec object) *v1alpha1.TargetSync {
	s.T.Helper()
	all := object{"sourceNamespace": s.Namespace, "secretRef": object{"name": "source", "key": "kubeconfig"}}
	for field, value := range spec {
		all[field] = value
	}
	s.Put("TargetSync", name, object{"spec": all})
	return &v1alpha1.TargetSync{ObjectMeta: s.Named(name)}
}

// reaches waits until a TargetSync is as it should be, and checks its conditions.
func (s *syncScene) reaches(sync *v1alpha1.TargetSync, state func(*v1alpha1.TargetSync) bool) {
	s.T.Helper()
	require.NoError(s.T, s.Await(s.Ctx, sync, func() bool { return state(sync) }))
	checker := check.NewChecker(s.Client(), &check.Conditions{NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition}})
	checker.DisableFetch = true
	failures, warnings := checker.Check(s.Ctx, sync)
	require.NoError(s.T, failures)
	require.NoError(s.T, warnings)
}

func isReady(sync *v1alpha1.TargetSync) bool {
	return sync.Status.ObservedGeneration == sync.Generation && conditions.IsReady(sync)
}

// failsWith waits until a TargetSync is not Ready for a reason, and returns the message.
func (s *syncScene) failsWith(sync *v1alpha1.TargetSync, reason string) string {
	s.T.Helper()
	s.reaches(sync, func(sync *v1alpha1.TargetSync) bool {
		return conditions.IsFalse(sync, meta.ReadyCondition) && conditions.GetReason(sync, meta.ReadyCondition) == reason
	})
	return conditions.GetMessage(sync, meta.ReadyCondition)
}

// targets returns the names of the Targets of the scene.
func (s *syncScene) targets() []string {
	s.T.Helper()
	list := &v1alpha1.TargetList{}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

// settlesOn waits until exactly these Targets exist.
func (s *syncScene) settlesOn(names ...string) {
	s.T.Helper()
	require.EventuallyWithT(s.T, func(c *assert.CollectT) { assert.Equal(c, names, s.targets()) }, landscape.Patience, 50*time.Millisecond)
}

func (s *syncScene) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: s.Named(name)}
}

func TestC08TargetSyncOfSecrets(t *testing.T) {
	s := newSyncScene(t)
	one := s.known("one.kubeconfig", "first")
	s.known("two.kubeconfig", "second")
	s.known("other", "third")
	s.keep(s.far.Client(), &corev1.Secret{ObjectMeta: s.Named("empty.kubeconfig"), Data: map[string][]byte{"token": []byte("x")}})
	sync := s.sync("clusters", object{"secretNameExpression": `\.kubeconfig$`})

	s.reaches(sync, isReady)
	assert.Contains(t, conditions.GetMessage(sync, meta.ReadyCondition), "have no key kubeconfig: empty.kubeconfig")
	s.settlesOn("one.kubeconfig", "two.kubeconfig")
	target := &v1alpha1.Target{}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(one), target))
	assert.Equal(t, v1alpha1.TargetSpec{
		Type: clusterType, SecretRef: &v1alpha1.LocalSecretReference{Name: "one.kubeconfig", Key: "kubeconfig"},
	}, target.Spec)
	assert.Equal(t, "ok", target.Labels["landscaper.gardener.cloud/targetsync"])
	made := s.secret("one.kubeconfig")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(made), made))
	assert.Equal(t, one.Data, made.Data)
	assert.Equal(t, "ok", made.Labels["landscaper.gardener.cloud/targetsync"])

	t.Log("changes at the source follow")
	s.known("one.kubeconfig", "changed")
	require.NoError(t, s.Await(s.Ctx, made, func() bool { return string(made.Data["kubeconfig"]) == "changed" }))
	s.known("three.kubeconfig", "third")
	require.NoError(t, s.far.Client().Delete(s.Ctx, one))
	s.settlesOn("three.kubeconfig", "two.kubeconfig")
	s.Gone(s.secret("one.kubeconfig"))

	t.Log("what somebody changes here is put back")
	require.NoError(t, s.Client().Delete(s.Ctx, &v1alpha1.Target{ObjectMeta: s.Named("two.kubeconfig")}))
	s.keep(s.Client(), &corev1.Secret{ObjectMeta: s.Named("three.kubeconfig"), Data: map[string][]byte{"kubeconfig": []byte("forged")}})
	s.settlesOn("three.kubeconfig", "two.kubeconfig")
	made = s.secret("three.kubeconfig")
	require.NoError(t, s.Await(s.Ctx, made, func() bool { return string(made.Data["kubeconfig"]) == "third" }))

	t.Log("the operation is answered")
	s.Annotate(sync, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.Annotate(sync, meta.ReconcileRequestAnnotation, "now")
	s.reaches(sync, func(sync *v1alpha1.TargetSync) bool {
		return sync.Status.LastHandledReconcileAt == "now" && sync.Annotations[v1alpha1.OperationAnnotation] == ""
	})

	t.Log("a deletion leaves the access to the source")
	s.Delete(sync)
	s.Gone(sync, s.secret("two.kubeconfig"), s.secret("three.kubeconfig"))
	assert.Empty(t, s.targets())
	assert.True(t, s.exists(s.secret("source")))
}

func TestC08CopiesOfSyncedTargetsAreLeftAlone(t *testing.T) {
	s := newSyncScene(t)
	s.known("one", s.DeployerAccess())
	sync := s.sync("clusters", object{"secretNameExpression": "*"})
	s.reaches(sync, isReady)
	s.install("root", s.nesting("root"))
	s.succeeded("root")
	s.RequireStandstill()
	before := s.targets()
	require.Greater(t, len(before), 1, "the sub-installation has a copy")
	s.known("two", "second")
	require.EventuallyWithT(t, func(c *assert.CollectT) { assert.Len(c, s.targets(), len(before)+1) }, landscape.Patience, 50*time.Millisecond)
	s.reaches(sync, isReady)
	assert.Subset(t, s.targets(), before)
}

// nesting is the spec of a root that hands the Target one to a sub-installation, which deploys a ConfigMap there.
func (s *syncScene) nesting(name string) object {
	return object{
		"imports": object{"targets": list{object{"name": "cluster", "target": "one"}}},
		"blueprint": inline(object{
			"imports": list{object{"name": "cluster", "targetType": clusterType}},
			"subinstallations": list{object{
				"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "InstallationTemplate", "name": "sub",
				"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
				"blueprint": object{"filesystem": object{"blueprint.yaml": document(object{
					"imports":          list{object{"name": "cluster", "targetType": clusterType}},
					"deployExecutions": goTemplate("deployItems:\n" + landscape.ConfigItem("item", "{import: cluster}", s.Namespace, name, "a: b")),
				})}},
			}},
		}),
	}
}

func TestC08TwoTargetSyncsOfANamespaceStopAndDeleteNothing(t *testing.T) {
	s := newSyncScene(t)
	s.known("one", "first")
	first := s.sync("first", object{"secretNameExpression": "*"})
	s.reaches(first, isReady)

	second := s.sync("second", object{"secretNameExpression": "^nothing$"})
	assert.Contains(t, s.failsWith(second, "SeveralTargetSyncs"), "first")
	assert.Contains(t, s.failsWith(first, "SeveralTargetSyncs"), "second")
	assert.Contains(t, strings.Join(first.Status.LastErrors, " "), "second")
	assert.True(t, conditions.IsStalled(first))
	s.RequireStandstill()

	s.Delete(second)
	s.Gone(second)
	s.reaches(first, isReady)
	assert.Equal(t, []string{"one"}, s.targets(), "the second TargetSync has not taken the Targets of the first with it")
}

func TestC08TargetSyncTakesNothingOfOthers(t *testing.T) {
	s := newSyncScene(t)
	own := &corev1.Secret{ObjectMeta: s.Named("one"), Data: map[string][]byte{"password": []byte("mine")}}
	s.keep(s.Client(), own)
	s.Put("Target", "two", object{"spec": object{"type": "example.com/other"}})
	for _, name := range []string{"one", "two", "three", "source"} {
		s.known(name, "kubeconfig of "+name)
	}
	sync := s.sync("clusters", object{"secretNameExpression": "*"})

	s.failsWith(sync, "SyncFailed")
	told := strings.Join(sync.Status.LastErrors, "\n")
	assert.Contains(t, told, `Secret "one" exists and was not made by a TargetSync; delete or rename it`)
	assert.Contains(t, told, `Target "two" exists and was not made by a TargetSync`)
	assert.Contains(t, told, "spec.secretRef")
	assert.True(t, s.exists(&v1alpha1.Target{ObjectMeta: s.Named("three")}), "one problem does not keep the others from being synced")
	present := s.secret("one")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(present), present))
	assert.Equal(t, own.Data, present.Data)

	t.Log("after a problem nothing is deleted")
	require.NoError(t, s.far.Client().Delete(s.Ctx, s.secret("three")))
	s.Annotate(sync, meta.ReconcileRequestAnnotation, "after the deletion")
	s.reaches(sync, func(sync *v1alpha1.TargetSync) bool {
		return sync.Status.LastHandledReconcileAt == "after the deletion"
	})
	assert.True(t, s.exists(&v1alpha1.Target{ObjectMeta: s.Named("three")}))
	s.RequireStandstill()

	t.Log("the person gives way")
	s.Delete(s.secret("one"))
	s.Delete(&v1alpha1.Target{ObjectMeta: s.Named("two")})
	require.NoError(t, s.far.Client().Delete(s.Ctx, s.secret("source")))
	s.reaches(sync, isReady)
	s.settlesOn("one", "two")
}

func TestTargetSyncOutlivesItsSource(t *testing.T) {
	s := newSyncScene(t)
	door, err := faults.NewDoor(s.access)
	require.NoError(t, err)
	t.Cleanup(door.Close)
	s.giveAccess(door.Through(s.access))
	s.known("one", "first")
	sync := s.sync("clusters", object{"secretNameExpression": "*"})
	s.reaches(sync, isReady)

	door.Close()
	s.Annotate(sync, meta.ReconcileRequestAnnotation, "closed")
	s.failsWith(sync, "SourceFailed")
	assert.False(t, conditions.IsStalled(sync))
	s.RequireStandstill()
	assert.Equal(t, []string{"one"}, s.targets())

	s.known("two", "second")
	require.NoError(t, door.Open())
	s.settlesOn("one", "two")
	s.reaches(sync, isReady)
}

func TestTargetSyncSaysWhatIsWrong(t *testing.T) {
	s := newSyncScene(t)
	s.keep(s.Client(), &corev1.Secret{ObjectMeta: s.Named("broken"), Data: map[string][]byte{"kubeconfig": []byte("{}")}})
	s.keep(s.Client(), &corev1.Secret{ObjectMeta: s.Named("near"), Data: map[string][]byte{"kubeconfig": s.Kubeconfig}})
	for name, tc := range map[string]struct {
		spec    object
		reason  string
		message string
		stalled bool
	}{
		"both expressions": {
			object{"secretNameExpression": "a", "shootNameExpression": "b"}, "InvalidSpec", "are both set; remove one of them", true,
		},
		"no expression": {object{"secretNameExpression": "("}, "InvalidSpec", "spec.secretNameExpression is not a regular expression", true},
		"no Secret": {
			object{"secretRef": object{"name": "missing"}}, "SecretNotFound", `Secret "missing" does not exist`, false,
		},
		"no key": {object{"secretRef": object{"name": "source", "key": "other"}}, "SecretNotFound", `has no key "other"`, false},
		"no Gardener": {
			object{"shootNameExpression": "*", "secretRef": object{"name": "near"}}, "SourceFailed", "does not know the kind Shoot", true,
		},
		"no kubeconfig": {object{"secretRef": object{"name": "broken"}}, "InvalidKubeconfig", "current-context is not set", true},
	} {
		sync := s.sync("clusters", tc.spec)
		assert.Contains(t, s.failsWith(sync, tc.reason), tc.message, name)
		assert.Equal(t, tc.stalled, conditions.IsStalled(sync), name)
		s.RequireStandstill()
		s.Delete(sync)
		s.Gone(sync)
	}
}

func TestTargetSyncOfABrokenSourceStopsNoOther(t *testing.T) {
	broken, healthy := newSyncScene(t), &syncScene{}
	silent := rest.CopyConfig(broken.access)
	silent.Host = "https://" + landscape.FreeAddress()
	broken.giveAccess(silent)
	failing := broken.sync("clusters", object{"secretNameExpression": "*"})
	broken.failsWith(failing, "SourceFailed")

	healthy.twoSites = &twoSites{scene: &scene{landscape.NewScene(t)}, far: broken.far, access: broken.access}
	require.NoError(t, healthy.far.Client().Create(healthy.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: healthy.Namespace}}))
	healthy.giveAccess(healthy.access)
	healthy.known("one", "first")
	healthy.reaches(healthy.sync("clusters", object{"secretNameExpression": "*"}), isReady)
	assert.Equal(t, []string{"one"}, healthy.targets())
	assert.Empty(t, broken.targets(), "the source of one namespace makes nothing in another")
}

func TestC10TargetToTheSource(t *testing.T) {
	s := newSyncScene(t)
	sync := s.sync("clusters", object{"createTargetToSource": true})
	s.reaches(sync, isReady)
	s.settlesOn(s.Namespace)
	target := &v1alpha1.Target{}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Namespace}, target))
	assert.Equal(t, &v1alpha1.LocalSecretReference{Name: "source", Key: "kubeconfig"}, target.Spec.SecretRef)

	s.sync("clusters", object{"createTargetToSource": true, "targetToSourceName": "origin"})
	s.settlesOn("origin")
	assert.True(t, s.exists(s.secret("source")))
}

// robot makes a ServiceAccount on the source that may ask for its own tokens and read Secrets, and gives TargetSyncs its access.
func (s *syncScene) robot() {
	s.T.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: s.Named("robot")}
	require.NoError(s.T, s.far.Client().Create(s.Ctx, account))
	role := &rbacv1.Role{ObjectMeta: s.Named("robot"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{"robot"}, Verbs: []string{"create"}},
	}}
	require.NoError(s.T, s.far.Client().Create(s.Ctx, role))
	require.NoError(s.T, s.far.Client().Create(s.Ctx, &rbacv1.RoleBinding{
		ObjectMeta: s.Named("robot"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "robot"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: "robot", Namespace: s.Namespace}},
	}))
	request := &authenticationv1.TokenRequest{}
	require.NoError(s.T, s.far.Client().SubResource("token").Create(s.Ctx, account, request))
	kubeconfig, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "source",
		Clusters: map[string]*clientcmdapi.Cluster{"source": {
			Server: s.far.RestConfig.Host, CertificateAuthorityData: s.far.RestConfig.CAData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"robot": {Token: request.Status.Token}},
		Contexts:  map[string]*clientcmdapi.Context{"source": {Cluster: "source", AuthInfo: "robot"}},
	})
	require.NoError(s.T, err)
	s.keep(s.Client(), &corev1.Secret{ObjectMeta: s.Named("source"), Data: map[string][]byte{"kubeconfig": kubeconfig}})
}

// token returns the token in the Secret with the access to the source.
func (s *syncScene) token() string {
	s.T.Helper()
	secret := s.secret("source")
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(secret), secret))
	config, err := clientcmd.Load(secret.Data["kubeconfig"])
	require.NoError(s.T, err)
	return config.AuthInfos["robot"].Token
}

func TestC10TheTokenIsRotated(t *testing.T) {
	s := newSyncScene(t)
	s.robot()
	first := s.token()
	sync := s.sync("clusters", object{"secretNameExpression": "*", "tokenRotation": object{"enabled": true}})
	s.reaches(sync, isReady)
	second := s.token()
	assert.NotEqual(t, first, second)
	require.NotNil(t, sync.Status.LastTokenRotationTime)

	t.Log("it is not rotated again before it is due")
	s.known("one", "first")
	s.settlesOn("one")
	s.RequireStandstill()
	assert.Equal(t, second, s.token())

	t.Log("somebody asks for a new one, twice with the same word")
	for range 2 {
		before := s.token()
		s.Annotate(sync, v1alpha1.RotateTokenAnnotation, "true")
		s.reaches(sync, func(sync *v1alpha1.TargetSync) bool {
			return isReady(sync) && sync.Annotations[v1alpha1.RotateTokenAnnotation] == "" && sync.Status.LastHandledTokenRotation == ""
		})
		assert.NotEqual(t, before, s.token())
	}
}

func TestC10ATokenInGitIsNotRotated(t *testing.T) {
	s := newSyncScene(t)
	s.robot()
	secret := s.secret("source")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(secret), secret))
	secret.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps"}
	require.NoError(t, s.Client().Update(s.Ctx, secret))
	s.known("one", "first")
	sync := s.sync("clusters", object{"secretNameExpression": "*", "tokenRotation": object{"enabled": true}})
	assert.Contains(t, s.failsWith(sync, "TokenRotationFailed"), "applied by Flux")
	s.settlesOn("one")
	s.RequireStandstill()
}

// gardener is a source with Shoots that answers as Gardener does when it is asked for the kubeconfig of one.
type gardener struct {
	*syncScene
	// requests counts the kubeconfigs that were issued.
	requests atomic.Int64
	// life of an issued kubeconfig.
	life time.Duration
	mu   sync.Mutex
	// refused names a Shoot that has no kubeconfig yet.
	refused string
	// kubeconfigs are issued for all Shoots; without it a word that is none.
	kubeconfigs atomic.Pointer[string]
}

var shootKind = sync.OnceValue(func() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "shoots.core.gardener.cloud"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "core.gardener.cloud", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "shoots", Singular: "shoot", Kind: "Shoot", ListKind: "ShootList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1beta1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &keep,
				}},
			}},
		},
	}
})

func newGardener(t *testing.T) *gardener {
	t.Helper()
	g := &gardener{syncScene: newSyncScene(t), life: 24 * time.Hour}
	crd := shootKind().DeepCopy()
	if err := g.far.Client().Create(g.Ctx, crd); err != nil {
		require.True(t, apierrors.IsAlreadyExists(err), "%v", err)
	}
	require.NoError(t, g.far.Await(g.Ctx, crd, func() bool {
		return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
	}))
	backend, err := url.Parse(g.access.Host)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(backend)
	proxy.Transport, err = rest.TransportFor(g.access)
	require.NoError(t, err)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/adminkubeconfig") {
			g.issue(w, r)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { _ = server.Config.Close() }) // Server.Close waits for watches
	through := &rest.Config{Host: server.URL, BearerToken: "any", TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	}}
	g.giveAccess(through)
	return g
}

// issue answers an AdminKubeconfigRequest.
func (g *gardener) issue(w http.ResponseWriter, r *http.Request) {
	var request object
	_ = json.NewDecoder(r.Body).Decode(&request)
	parts := strings.Split(r.URL.Path, "/")
	name := parts[len(parts)-2]
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if name == g.refused {
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity,
			Reason: metav1.StatusReasonInvalid, Message: "the shoot has not been created yet",
		})
		return
	}
	issued := fmt.Sprintf("kubeconfig %d of %s for %v s", g.requests.Add(1), name, request["spec"].(object)["expirationSeconds"])
	if kubeconfig := g.kubeconfigs.Load(); kubeconfig != nil {
		issued = *kubeconfig
	}
	request["status"] = object{
		"kubeconfig":          base64.StdEncoding.EncodeToString([]byte(issued)),
		"expirationTimestamp": time.Now().Add(g.life).UTC().Format(time.RFC3339),
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(request)
}

// shoot makes a Shoot.
func (g *gardener) shoot(name string) *unstructured.Unstructured {
	g.T.Helper()
	shoot := &unstructured.Unstructured{}
	shoot.SetAPIVersion("core.gardener.cloud/v1beta1")
	shoot.SetKind("Shoot")
	shoot.SetNamespace(g.Namespace)
	shoot.SetName(name)
	require.NoError(g.T, g.far.Client().Create(g.Ctx, shoot))
	return shoot
}

// kubeconfig returns what the Secret of a Shoot holds.
func (g *gardener) kubeconfig(name string) string {
	g.T.Helper()
	secret := g.secret(name)
	require.NoError(g.T, g.Client().Get(g.Ctx, client.ObjectKeyFromObject(secret), secret))
	return string(secret.Data["kubeconfig"])
}

func TestC09TargetSyncOfShoots(t *testing.T) {
	g := newGardener(t)
	g.refused = "young"
	g.shoot("one")
	two := g.shoot("two")
	g.shoot("young")
	g.shoot("ignored-1")
	sync := g.sync("clusters", object{"shootNameExpression": "^(one|two|young)$"})

	assert.Contains(t, g.failsWith(sync, "Invalid"), `no kubeconfig for Shoot "young"`)
	g.settlesOn("one", "two")
	assert.Regexp(t, `^kubeconfig \d of one for 86400 s$`, g.kubeconfig("one"))
	target := &v1alpha1.Target{}
	require.NoError(t, g.Client().Get(g.Ctx, client.ObjectKey{Namespace: g.Namespace, Name: "one"}, target))
	renewed, err := time.Parse(time.RFC3339, target.Annotations["landscaper.gardener.cloud/lasttargetsync"])
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now(), renewed, 2*time.Minute)

	t.Log("a Shoot gets its kubeconfig once it has one, and goes with its Target")
	g.mu.Lock()
	g.refused = ""
	g.mu.Unlock()
	require.NoError(t, g.far.Client().Delete(g.Ctx, two))
	g.reaches(sync, isReady)
	g.settlesOn("one", "young")
	g.RequireStandstill()
	issued := g.requests.Load()
	assert.EqualValues(t, 3, issued, "a kubeconfig that is young enough is not asked for again")

	t.Log("it is renewed after half a day")
	g.Annotate(target, "landscaper.gardener.cloud/lasttargetsync", time.Now().Add(-12*time.Hour-time.Minute).UTC().Format(time.RFC3339))
	require.Eventually(t, func() bool { return g.requests.Load() == issued+1 }, landscape.Patience, 50*time.Millisecond)
	secret := g.secret("one")
	require.NoError(t, g.Await(g.Ctx, secret, func() bool { return strings.HasPrefix(string(secret.Data["kubeconfig"]), "kubeconfig 4") }))

	t.Log("one of a shorter life is renewed earlier")
	g.mu.Lock()
	g.life = 2 * time.Hour
	g.mu.Unlock()
	g.shoot("two")
	g.settlesOn("one", "two", "young")
	require.NoError(t, g.Client().Get(g.Ctx, client.ObjectKey{Namespace: g.Namespace, Name: "two"}, target))
	renewed, err = time.Parse(time.RFC3339, target.Annotations["landscaper.gardener.cloud/lasttargetsync"])
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(time.Hour), renewed.Add(12*time.Hour), 2*time.Minute, "after half of its life")
}

func TestC07TheUninstallIsSkippedWhereTheShootIsGone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// before happens before the Installation is deleted.
		before func(g *gardener, shoot *unstructured.Unstructured, door *faults.Door)
		skips  bool
	}{
		"gone": {func(g *gardener, shoot *unstructured.Unstructured, door *faults.Door) {
			door.Close()
			require.NoError(g.T, g.far.Client().Delete(g.Ctx, shoot))
			g.Gone(&v1alpha1.Target{ObjectMeta: g.Named("one")})
		}, true},
		"in deletion": {func(g *gardener, shoot *unstructured.Unstructured, door *faults.Door) {
			door.Close()
			shoot.SetFinalizers([]string{"example.com/slow"})
			require.NoError(g.T, g.far.Client().Update(g.Ctx, shoot))
			require.NoError(g.T, g.far.Client().Delete(g.Ctx, shoot))
		}, true},
		"there": {func(*gardener, *unstructured.Unstructured, *faults.Door) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGardener(t)
			config, err := g.NewUser(g.Deployer(), landscape.AllRights...)
			require.NoError(t, err)
			door, err := faults.NewDoor(config)
			require.NoError(t, err)
			t.Cleanup(door.Close)
			access, err := platform.KubeconfigFor(door.Through(config))
			require.NoError(t, err)
			issued := string(access)
			g.kubeconfigs.Store(&issued)
			shoot := g.shoot("one")
			sync := g.sync("clusters", object{"shootNameExpression": "*"})
			g.reaches(sync, isReady)
			g.install("root", g.skipping())
			g.succeeded("root")
			items := &v1alpha1.DeployItemList{}
			require.NoError(t, g.Client().List(g.Ctx, items, client.InNamespace(g.Namespace)))
			require.Len(t, items.Items, 1)
			item := &items.Items[0]
			require.NoError(t, g.Await(g.Ctx, item, func() bool { return item.Annotations["landscaper.gardener.cloud/clustername"] == "one" }))

			tc.before(g, shoot, door)
			g.Delete(g.Installation("root"))
			g.Gone(g.Installation("root"), item)
			assert.Equal(t, tc.skips, g.exists(g.config("left")), "what was deployed stays where the uninstall is skipped")
		})
	}
}

// skipping is the spec of a root that deploys a ConfigMap to the Shoot one and skips the uninstall when that is gone.
func (g *gardener) skipping() object {
	item := landscape.ConfigItem("item", "{import: cluster}", g.Namespace, "left", "a: b")
	return object{
		"imports": object{"targets": list{object{"name": "cluster", "target": "one"}}},
		"blueprint": inline(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"deployExecutions": goTemplate("deployItems:\n" + item + "  onDelete: {skipUninstallIfClusterRemoved: true}\n"),
		}),
	}
}
