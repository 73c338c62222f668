// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{Flux: true, Registry: true}))
}

// published is a registry path with releases that one key has signed.
type published struct {
	*testing.T
	*platform.Platform
	ctx             context.Context
	namespace, path string
	key             crypto.Signer
}

// publish makes a release of this checkout with a key and pushes it, as make release does.
func publish(t *testing.T, path string, key crypto.Signer) *published {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	shared := platform.Shared(t)
	p := &published{T: t, Platform: shared, ctx: ctx, namespace: shared.Namespace(t), path: path, key: key}
	p.release("v1.0.0")
	return p
}

// release makes a release of this version with the key, and pushes it.
func (p *published) release(version string) {
	p.Helper()
	command, err := binaries.BuildProgram(p.ctx, "./cmd/release")
	require.NoError(p, err)
	program, err := binaries.BuildStatic(p.ctx, "./tests/platform/cmd/pause") // nobody looks into the image
	require.NoError(p, err)
	dir := p.TempDir()
	require.NoError(p, os.Symlink(program, filepath.Join(dir, "landscaper_linux_"+runtime.GOARCH)))
	der, err := x509.MarshalPKCS8PrivateKey(p.key)
	require.NoError(p, err)
	key := filepath.Join(dir, "key.pem")
	require.NoError(p, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	said, err := exec.CommandContext(p.ctx, command, "all", "--source", filepath.Join("..", "..", ".."), "--programs", dir, "--dist", p.TempDir(),
		"--version", version, "--revision", strings.Repeat("0", 40), "--push", p.Registry.Host+"/"+p.path, "--plain-http", "--key", key).CombinedOutput()
	require.NoError(p, err, "%s", said)
}

// secret has the public half of a key, as Flux wants it.
func (p *published) secret(name string, key crypto.Signer) {
	p.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	require.NoError(p, err)
	require.NoError(p, p.Client().Create(p.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Data:       map[string][]byte{"release.pub": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})},
	}))
}

// follow lets Flux get what is in a repository of the release, if it is signed with a key.
func (p *published) follow(name, repository, tag, key string) *sourcev1.OCIRepository {
	p.Helper()
	source := &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec: sourcev1.OCIRepositorySpec{
			URL: p.Registry.URL(p.path + "/" + repository), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{Tag: tag},
			Verify:    &sourcev1.OCIRepositoryVerification{Provider: "cosign", SecretRef: &meta.LocalObjectReference{Name: key}},
		},
	}
	require.NoError(p, p.Client().Create(p.ctx, source))
	return source
}

// verified waits until Flux has found a signature good.
func (p *published) verified(source *sourcev1.OCIRepository) {
	p.Helper()
	require.NoError(p, p.Await(p.ctx, source, func() bool { return conditions.Has(source, sourcev1.SourceVerifiedCondition) }))
	assert.True(p, conditions.IsTrue(source, sourcev1.SourceVerifiedCondition), conditions.GetMessage(source, sourcev1.SourceVerifiedCondition))
}

// refused waits until Flux has refused what is there.
func (p *published) refused(source *sourcev1.OCIRepository) {
	p.Helper()
	require.NoError(p, p.Await(p.ctx, source, func() bool { return conditions.IsFalse(source, sourcev1.SourceVerifiedCondition) }))
	assert.Equal(p, sourcev1.VerificationError, conditions.GetReason(source, sourcev1.SourceVerifiedCondition))
	assert.Nil(p, source.Status.Artifact)
}

// in names a tag of a repository of the release.
func (p *published) in(repository, tag string) name.Tag {
	p.Helper()
	parsed, err := name.NewTag(p.Registry.Host+"/"+p.path+"/"+repository+":"+tag, name.Insecure)
	require.NoError(p, err)
	return parsed
}

func (p *published) signatures(of v1.Hash) v1.Image {
	p.Helper()
	found, err := remote.Image(p.in("manifests", of.Algorithm+"-"+of.Hex+".sig"), remote.WithContext(p.ctx))
	require.NoError(p, err)
	return found
}

func TestFluxVerifiesTheSignatureOfARelease(t *testing.T) {
	_, ofEd25519, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	ofRSA, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	ofECDSA, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	for name, key := range map[string]crypto.Signer{"ecdsa": ofECDSA, "ed25519": ofEd25519, "rsa": ofRSA} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, name, key)
			p.secret("ours", key)
			manifests := p.follow("manifests", "manifests", "v1.0.0", "ours")
			p.verified(manifests)
			require.NoError(t, p.AwaitReady(p.ctx, manifests))
			p.verified(p.follow("image", "landscaper", "v1.0.0", "ours"))
		})
	}
}

// A HelmRelease takes a chart by an OCIRepository, or by a HelmRepository and a version.
func TestFluxGetsTheChartsOfARelease(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p := publish(t, "charted", key)
	p.secret("ours", key)
	for _, chart := range []string{"landscaper", "landscaper-agent", "helm-deployer"} {
		source := p.follow(chart, "charts/"+chart, "1.0.0", "ours")
		p.verified(source)
		require.NoError(t, p.AwaitReady(p.ctx, source))
	}

	repository := &sourcev1.HelmRepository{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "charts"},
		Spec:       sourcev1.HelmRepositorySpec{Type: sourcev1.HelmRepositoryTypeOCI, URL: p.Registry.URL(p.path + "/charts"), Insecure: true},
	}
	chart := &sourcev1.HelmChart{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "agent"},
		Spec: sourcev1.HelmChartSpec{
			Chart: "landscaper-agent", Version: ">=1.0.0", SourceRef: sourcev1.LocalHelmChartSourceReference{Kind: sourcev1.HelmRepositoryKind, Name: repository.Name},
			Interval: metav1.Duration{Duration: time.Hour},
			Verify:   &sourcev1.HelmChartVerification{Provider: "cosign", SecretRef: &meta.LocalObjectReference{Name: "ours"}},
		},
	}
	require.NoError(t, p.Client().Create(p.ctx, repository))
	require.NoError(t, p.Client().Create(p.ctx, chart))
	require.NoError(t, p.AwaitReady(p.ctx, chart))
	assert.Equal(t, "1.0.0", chart.Status.Artifact.Revision)
}

func TestFluxRefusesWhatTheKeyOfTheReleaseHasNotSigned(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	another, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p := publish(t, "forged", key)
	p.secret("ours", key)
	p.secret("another", another)
	p.refused(p.follow("by-another-key", "manifests", "v1.0.0", "another"))

	genuine, err := remote.Image(p.in("manifests", "v1.0.0"), remote.WithContext(p.ctx))
	require.NoError(t, err)
	changed := mutate.Annotations(genuine, map[string]string{"changed": "afterwards"}).(v1.Image)
	require.NoError(t, remote.Write(p.in("manifests", "changed"), changed, remote.WithContext(p.ctx)))
	p.refused(p.follow("without-signature", "manifests", "changed", "ours"))
}

func TestAReleaseIsSignedOnceByAKeyAndKeepsTheSignaturesOfOthers(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	another, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p := publish(t, "again", another)
	p.key = key
	p.release("v1.0.0")
	p.release("v1.0.0")

	genuine, err := remote.Image(p.in("manifests", "v1.0.0"), remote.WithContext(p.ctx))
	require.NoError(t, err)
	digest, err := genuine.Digest()
	require.NoError(t, err)
	layers, err := p.signatures(digest).Layers()
	require.NoError(t, err)
	assert.Len(t, layers, 2)
	p.secret("ours", key)
	p.secret("another", another)
	p.verified(p.follow("ours", "manifests", "v1.0.0", "ours"))
	p.verified(p.follow("another", "manifests", "v1.0.0", "another"))
}
