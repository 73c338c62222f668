// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// TestThePageHasTheRightsOfItsOverlay runs what flux/ui runs, with the rights of its service account and a proxy that has its certificate.
func TestThePageHasTheRightsOfItsOverlay(t *testing.T) {
	p := platform.Shared(t)
	binary, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err)
	installSources(t.Context(), t, p)
	installedRights := installed(t)
	objects := builtFrom(t, "flux/ui")
	for _, object := range append(installedRights, objects...) {
		if kind := object.GetKind(); kind == "Namespace" || kind == "ClusterRole" || kind == "ServiceAccount" || kind == "ClusterRoleBinding" {
			require.NoError(t, p.Apply(t.Context(), object), object.GetName())
		}
	}
	awaitRights(t.Context(), t, p, objects)
	deployment := typed[appsv1.Deployment](t, objects, "Deployment")[0]
	serving := httptest.NewTLSServer(http.NotFoundHandler()) // has a certificate for the address
	serving.Close()
	proxy, err := p.NewUser("landscaper-ui-proxy")
	require.NoError(t, err)
	folder := t.TempDir()
	key, err := x509.MarshalPKCS8PrivateKey(serving.TLS.Certificates[0].PrivateKey)
	require.NoError(t, err)
	for name, text := range map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: serving.Certificate().Raw}), "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}),
		"ca.crt": p.RestConfig.CAData,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	address := programs.RequireFreeAddress(t, programs.Loopback)
	container := &deployment.Spec.Template.Spec.Containers[0]
	for i, arg := range container.Args {
		container.Args[i] = strings.NewReplacer("/etc/landscaper/ui", folder, "${ui_hosts}", "127.0.0.1").Replace(arg)
	}
	container.Args = append(container.Args, "--listen-addr="+address)
	started := time.Now()
	runAs(t, p, binary, deployment)
	trusted := x509.NewCertPool()
	trusted.AddCert(serving.Certificate())
	certificate, err := tls.X509KeyPair(proxy.CertData, proxy.KeyData)
	require.NoError(t, err)
	viewer := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}}
	defer viewer.CloseIdleConnections()

	var answer *http.Response
	require.Eventually(t, func() bool {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/api/changes", http.NoBody)
		require.NoError(t, err)
		request.Header.Set("X-Remote-User", "ann")
		answer, err = viewer.Do(request)
		return err == nil
	}, patience, 100*time.Millisecond)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	line, err := bufio.NewReader(answer.Body).ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "event: landscape\n", line)

	requests, err := p.Requests(t.Context(), started)
	require.NoError(t, err)
	asked := 0
	for _, request := range requests {
		if request.User != serviceAccount(deployment) {
			continue
		}
		assert.NotEqual(t, http.StatusForbidden, request.Code, "it may not %s %s", request.Verb, request.Resource)
		if request.Resource == "subjectaccessreviews.authorization.k8s.io" {
			asked++
		} else {
			assert.Contains(t, []string{"get", "list", "watch"}, request.Verb, request.Resource)
		}
	}
	assert.NotZero(t, asked)
}
