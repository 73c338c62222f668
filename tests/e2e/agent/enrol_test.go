// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// bootstrap makes a bootstrap token by the command line, and writes its kubeconfig behind the fence. It returns the path and the token.
func (s *scene) bootstrap() (path, token string) {
	s.t.Helper()
	binary, err := binaries.BuildCLI(s.ctx)
	require.NoError(s.t, err)
	cmd := exec.CommandContext(s.ctx, binary, "agent", "bootstrap-token", s.environment, "--kubeconfig", s.KubeconfigPath, "--server", "https://"+s.centre.Address)
	said := &bytes.Buffer{}
	cmd.Stderr = said
	out, err := cmd.Output()
	require.NoError(s.t, err, "%s", said)
	secret := &corev1.Secret{}
	require.NoError(s.t, yaml.UnmarshalStrict(out, secret))
	assert.Equal(s.t, client.ObjectKey{Namespace: system, Name: "landscaper-agent-kubeconfig"}, client.ObjectKeyFromObject(secret))
	text := []byte(secret.StringData["bootstrap-kubeconfig"])
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	require.NoError(s.t, err)
	assert.NotContains(s.t, said.String(), config.BearerToken)
	path = filepath.Join(s.dir, "bootstrap-kubeconfig")
	require.NoError(s.t, os.WriteFile(path, text, 0o600))
	return path, config.BearerToken
}

// enrolArgs are the arguments of an agent with a bootstrap token.
func (s *scene) enrolArgs(path string) []string {
	args := s.agentArgs("--bootstrap-kubeconfig=" + path)
	require.NoError(s.t, os.Remove(filepath.Join(s.dir, "landscaper.kubeconfig")))
	return args
}

// credential is the Secret of the agent behind the fence.
func (s *scene) credential() *corev1.Secret {
	s.t.Helper()
	secret := &corev1.Secret{}
	require.NoError(s.t, s.fence.Client().Get(s.ctx, client.ObjectKey{Namespace: system, Name: s.environment + "-agent-credential"}, secret))
	return secret
}

func (s *scene) claim() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: enrolment.ClaimPrefix + s.environment}}
}

// bearer is a client of the landscaper cluster with a token.
func (s *scene) bearer(token string) client.Client {
	s.t.Helper()
	config := rest.AnonymousClientConfig(s.RestConfig)
	config.BearerToken = token
	c, err := client.New(config, client.Options{Scheme: s.Client().Scheme(), Mapper: s.Client().RESTMapper()})
	require.NoError(s.t, err)
	return c
}

// refused waits until the agent says why a token is of no use, and checks that it does not ask again and again.
func (s *scene) refused(m *member, reason string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return s.hasEvent(reason, "make a new one by `flux landscaper agent bootstrap-token`") }, patience, 50*time.Millisecond, reason)
	assert.False(s.t, m.isReady())
	since := time.Now()
	require.Never(s.t, m.isReady, 3*time.Second, 100*time.Millisecond)
	requests, err := s.Requests(s.ctx, since)
	require.NoError(s.t, err)
	for _, request := range requests {
		isOurs := strings.Contains(request.User, s.environment) || request.Code == http.StatusUnauthorized
		assert.False(s.t, isOurs, "%s %s %s/%s after the refusal", request.User, request.Verb, request.Namespace, request.Name)
	}
}

func TestABootstrapTokenIsExchangedOnce(t *testing.T) {
	s := newScene(t, "joined")
	s.startController("--deployer-management")
	path, token := s.bootstrap()
	args := s.enrolArgs(path)
	m := s.start("joined-agent", s.account, args...)
	m.awaitReady()
	assert.True(t, s.hasEvent("AgentEnrolled", "joined"))
	first := s.credential()
	assert.NotEmpty(t, first.Data["token"])
	assert.NotContains(t, first.Data, "pending-key", "the key is not needed any more")
	require.NoError(t, s.AwaitGone(s.ctx, s.claim()))
	require.Eventually(t, func() bool {
		return apierrors.IsUnauthorized(s.bearer(token).Get(s.ctx, client.ObjectKeyFromObject(s.claim()), &corev1.Secret{}))
	}, patience, 100*time.Millisecond, "the bootstrap token has ended with its claim")
	found := &corev1.SecretList{}
	require.NoError(t, s.Client().List(s.ctx, found))
	for _, secret := range found.Items {
		for key, value := range secret.Data {
			assert.NotContains(t, string(value), string(first.Data["token"]), "%s/%s %s shows the token", secret.Namespace, secret.Name, key)
		}
	}

	t.Run("the same token again changes nothing", func(t *testing.T) {
		settled := s.credential().ResourceVersion
		since := time.Now()
		for range 10 {
			require.NoError(t, m.Stop(20*time.Second))
			require.NoError(t, m.Restart())
			m.awaitReady()
		}
		assert.Equal(t, settled, s.credential().ResourceVersion)
		requests, err := s.Requests(s.ctx, since)
		require.NoError(t, err)
		for _, request := range requests {
			assert.NotContains(t, request.User, "landscaper-agent-bootstrap-joined")
			assert.NotEqual(t, http.StatusUnauthorized, request.Code, "%s %s", request.Verb, request.Name)
		}
	})
	t.Run("the credential is renewed before it expires", func(t *testing.T) {
		require.NoError(t, m.Stop(20*time.Second))
		due := s.credential()
		due.Annotations["landscaper.gardener.cloud/token-renew-at"] = time.Now().UTC().Format(time.RFC3339)
		require.NoError(t, s.fence.Client().Update(s.ctx, due))
		require.NoError(t, m.Restart())
		require.Eventually(t, func() bool { return !bytes.Equal(s.credential().Data["token"], first.Data["token"]) }, patience, 50*time.Millisecond)
		m.awaitReady()
		renew, err := time.Parse(time.RFC3339, s.credential().Annotations["landscaper.gardener.cloud/token-renew-at"])
		require.NoError(t, err)
		assert.Greater(t, time.Until(renew), time.Minute)
	})
	t.Run("a credential that has expired is named, and replaced by a new token", func(t *testing.T) {
		require.NoError(t, m.Stop(20*time.Second))
		old := s.credential()
		old.Annotations["landscaper.gardener.cloud/token-expires-at"] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
		require.NoError(t, s.fence.Client().Update(s.ctx, old))
		require.NoError(t, m.Restart())
		s.refused(m, "AgentCredentialExpired")
		s.bootstrap()
		m.awaitReady()
		assert.NotEqual(t, old.Data["token"], s.credential().Data["token"])
	})
	t.Run("a used token is refused elsewhere", func(t *testing.T) {
		require.NoError(t, m.Stop(20*time.Second))
		require.NoError(t, s.fence.Client().Delete(s.ctx, s.credential()))
		require.NoError(t, m.Restart())
		s.refused(m, "BootstrapTokenRefused")
	})
	t.Run("a new token mends that without a restart", func(t *testing.T) {
		s.bootstrap()
		m.awaitReady()
	})
}

func TestATokenOfAnotherEnvironmentIsRefused(t *testing.T) {
	other := newScene(t, "elsewhere")
	other.startController("--deployer-management")
	path, token := other.bootstrap()
	s := newScene(t, "astray")
	m := s.start("astray-agent", s.account, s.enrolArgs(path)...)
	s.refused(m, "BootstrapTokenForeign")

	c := other.bearer(token)
	for name, err := range map[string]error{
		"the claim of another":     c.Get(s.ctx, client.ObjectKeyFromObject(s.claim()), &corev1.Secret{}),
		"its own agent's token":    c.SubResource("token").Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: other.home(), Name: "landscaper-agent-elsewhere"}}, &authenticationv1.TokenRequest{}),
		"a token of another agent": c.SubResource("token").Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: "landscaper-agent-astray"}}, &authenticationv1.TokenRequest{}),
		"other Secrets":            c.List(s.ctx, &corev1.SecretList{}, client.InNamespace(other.home())),
		"a Secret of its own":      c.Create(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: other.home(), Name: "x"}}),
		"writing the answer": c.Update(s.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: other.home(), Name: enrolment.AnswerPrefix + "elsewhere", ResourceVersion: "1"}}),
	} {
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", name, err)
	}
}

func TestOfTwoThatHaveATokenOneGetsACredential(t *testing.T) {
	s := newScene(t, "stolen")
	s.startController("--deployer-management")
	path, token := s.bootstrap()
	thief := s.bearer(token)
	claim := s.claim()
	require.NoError(t, thief.Get(s.ctx, client.ObjectKeyFromObject(claim), claim))
	_, public, err := enrolment.NewKey()
	require.NoError(t, err)
	claim.Data = map[string][]byte{enrolment.PublicKey: public}
	require.NoError(t, thief.Update(s.ctx, claim))
	answer := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: enrolment.AnswerPrefix + "stolen"}}
	require.NoError(t, s.Await(s.ctx, answer, func() bool { return len(answer.Data[enrolment.Answer]) > 0 }))
	answered := answer.ResourceVersion

	m := s.start("stolen-agent", s.account, s.enrolArgs(path)...)
	s.refused(m, "BootstrapTokenUsed")
	require.NoError(t, thief.Get(s.ctx, client.ObjectKeyFromObject(claim), claim))
	_, second, err := enrolment.NewKey()
	require.NoError(t, err)
	claim.Data[enrolment.PublicKey] = second
	require.NoError(t, thief.Update(s.ctx, claim))
	require.Never(t, func() bool {
		return s.Client().Get(s.ctx, client.ObjectKeyFromObject(answer), answer) != nil || answer.ResourceVersion != answered
	}, 2*time.Second, 100*time.Millisecond, "there is one answer for a claim")

	past := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, enrolment.ExpiresAnnotation, time.Now().Add(-time.Second).UTC().Format(time.RFC3339))
	require.NoError(t, s.Client().Patch(s.ctx, claim, client.RawPatch("application/merge-patch+json", []byte(past))))
	require.NoError(t, s.AwaitGone(s.ctx, s.claim()), "a claim that is over is deleted, and its token ends with it")
}

// throughFront makes a bootstrap kubeconfig lead through a front.
func throughFront(t *testing.T, path string, f *front) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(path)
	require.NoError(t, err)
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = f.server.URL, f.authority()
	}
	require.NoError(t, clientcmd.WriteToFile(*config, path))
}

// isEnrolled reports whether the agent has nothing left to do for its credential.
func (s *scene) isEnrolled() bool {
	secret := &corev1.Secret{}
	err := s.fence.Client().Get(s.ctx, client.ObjectKey{Namespace: system, Name: s.environment + "-agent-credential"}, secret)
	return err == nil && len(secret.Data["token"]) > 0 && secret.Annotations["landscaper.gardener.cloud/bootstrap-left"] == ""
}

func TestAnAgentThatDiesAtAnyWriteOfItsEnrolmentIsEnrolledOnce(t *testing.T) {
	s := newScene(t, "mortal")
	s.startController("--deployer-management")
	reaper := &scythe{deaths: map[string]int{}, counts: func(r *http.Request) bool {
		return strings.Contains(r.URL.Path, "/secrets") && !strings.HasSuffix(r.URL.Path, "-target-access")
	}}
	s.hostFront = newFront(t, s.fence.Cluster, reaper.meet)
	path, token := s.bootstrap()
	throughFront(t, path, newFront(t, s.Cluster, reaper.meet))
	began := time.Now()
	m := s.start("mortal-agent", s.account, s.enrolArgs(path)...)
	for life := 1; ; life++ {
		require.Less(t, life, 40, "%v", reaper.deaths)
		require.NoError(t, m.Kill9())
		reaper.arm(func() { assert.NoError(t, m.Kill9()) })
		require.NoError(t, m.Restart())
		require.Eventually(t, func() bool { return !m.Running() || m.isReady() && s.isEnrolled() }, patience, 20*time.Millisecond)
		if m.Running() {
			break
		}
	}
	t.Logf("the agent has died: %v", reaper.deaths)
	for _, write := range []string{
		"before POST secrets", "after POST secrets", "before PUT mortal-agent-credential", "after PUT mortal-agent-credential",
		"before PUT landscaper-agent-bootstrap-mortal", "after PUT landscaper-agent-bootstrap-mortal",
		"before DELETE landscaper-agent-bootstrap-mortal", "after DELETE landscaper-agent-bootstrap-mortal",
	} {
		assert.Contains(t, reaper.deaths, write)
	}
	assert.NotContains(t, s.credential().Data, "pending-key")
	require.NoError(t, s.AwaitGone(s.ctx, s.claim()))
	require.Eventually(t, func() bool {
		return apierrors.IsUnauthorized(s.bearer(token).Get(s.ctx, client.ObjectKeyFromObject(s.claim()), &corev1.Secret{}))
	}, patience, 100*time.Millisecond, "the bootstrap token has ended with its claim")
	requests, err := s.Requests(s.ctx, began)
	require.NoError(t, err)
	tokens := 0
	for _, request := range requests {
		if request.Writes() && request.Subresource == "token" && request.Name == enrolment.AccountPrefix+"mortal" && request.Code < http.StatusBadRequest {
			tokens++
		}
	}
	assert.Equal(t, 1, tokens, "one bootstrap token is good for one credential")
}

func TestANewAuthorityOfTheLandscaperClusterIsNamedAndTaken(t *testing.T) {
	for name, bootstraps := range map[string]bool{"with a kubeconfig": false, "with a bootstrap token": true} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, map[bool]string{false: "turned", true: "turned-token"}[bootstraps])
			way := newFront(t, s.Cluster, asIs)
			var path string
			var args []string
			if bootstraps {
				s.startController("--deployer-management")
				path, _ = s.bootstrap()
				args = s.enrolArgs(path)
			} else {
				args = s.agentArgs()
				path = filepath.Join(s.dir, "landscaper.kubeconfig")
			}
			throughFront(t, path, way)
			m := s.start(s.environment+"-agent", s.account, args...)
			m.awaitReady()
			assert.Equal(t, way.authority(), s.registered().Spec.LandscaperClusterRestConfig.CAData)
			way.rotate()
			m.awaitConnected(false)
			require.Eventually(t, func() bool { return s.hasEvent("AgentDisconnected", "certificate-authority-data") }, patience, 50*time.Millisecond)
			throughFront(t, path, way)
			m.awaitConnected(true)
			s.awaitEnvironment(func(env *v1alpha1.Environment) bool {
				return bytes.Equal(way.authority(), env.Spec.LandscaperClusterRestConfig.CAData)
			})
			assert.True(t, m.Running())
		})
	}
}
