// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// signLikeCosign pushes the signature of a component version where cosign keeps it, and returns the public key in PEM.
func (s *scene) signLikeCosign(name, version string) string {
	s.T.Helper()
	client, err := oci.New(oci.Options{})
	require.NoError(s.T, err)
	defer func() { _ = client.Close() }()
	ref := component.OCIRegistry{BaseURL: s.Registry.Host, SubPath: s.base()}.Reference(name, version)
	signed, err := client.Resolve(s.Ctx, ref, oci.Credentials{})
	require.NoError(s.T, err)
	payload, err := json.Marshal(object{"critical": object{
		"identity": object{"docker-reference": ""}, "image": object{"docker-manifest-digest": signed.Digest.String()}, "type": "cosign container image signature",
	}, "optional": nil})
	require.NoError(s.T, err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(s.T, err)
	sum := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	require.NoError(s.T, err)

	at := ref[:strings.LastIndex(ref, ":")] + ":" + strings.Replace(signed.Digest.String(), ":", "-", 1) + ".sig"
	push := func(mediaType, content string) ocispec.Descriptor {
		pushed, err := client.PushBlob(s.Ctx, at, oci.BytesSource(mediaType, []byte(content)), oci.Credentials{})
		require.NoError(s.T, err)
		return pushed
	}
	manifest := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: push(ocispec.MediaTypeImageConfig, `{"architecture":"","os":"","config":{},"rootfs":{"type":"layers","diff_ids":[]}}`),
		Layers: []ocispec.Descriptor{push("application/vnd.dev.cosign.simplesigning.v1+json", string(payload))},
	}
	manifest.Layers[0].Annotations = map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)}
	raw, err := json.Marshal(manifest)
	require.NoError(s.T, err)
	_, err = client.PushManifest(s.Ctx, at, ocispec.MediaTypeImageManifest, raw, oci.Credentials{})
	require.NoError(s.T, err)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(s.T, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

func TestC11SourcesThatFluxHasVerifiedAreUsedWhereTheContextRequiresIt(t *testing.T) {
	s := newScene(t)
	s.useRegistry(object{"requireVerifiedSources": true})
	s.publish(marked("example.com/root", "1.0.0", "root", "", ""))
	s.secret("cosign", map[string]string{"cosign.pub": s.signLikeCosign("example.com/root", "1.0.0")})
	source := s.follow("root", "example.com/root", "1.x")
	s.install("root", fromSource("root", "mark"))
	failure := s.failed("root")
	assert.Equal(t, "SourceNotVerified", failure.Reason)
	assert.Contains(t, failure.Message, "spec.componentDescriptor.sourceRef: sourceRef OCIRepository "+s.Namespace+"/root")
	assert.Contains(t, failure.Message, "set spec.verify")

	_, err := s.Registry.PushFluxArtifact(s.Ctx, s.Namespace+"/blueprint", "1.0.0", servers.Files(map[string]string{"blueprint.yaml": document(object{})}))
	require.NoError(t, err)
	blueprint := &sourcev1.OCIRepository{
		ObjectMeta: s.Named("blueprint"),
		Spec: sourcev1.OCIRepositorySpec{
			URL: s.Registry.URL(s.Namespace + "/blueprint"), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{Tag: "1.0.0"},
		},
	}
	require.NoError(t, s.Client().Create(s.Ctx, blueprint))
	s.install("blueprint", object{"blueprint": object{"sourceRef": object{"kind": "OCIRepository", "name": "blueprint"}}})
	assert.Equal(t, "SourceNotVerified", s.failed("blueprint").Reason)

	source.Spec.Verify = &sourcev1.OCIRepositoryVerification{Provider: "cosign", SecretRef: &meta.LocalObjectReference{Name: "cosign"}}
	s.verify(source)
	s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	done := s.succeeded("root")
	require.Len(t, done.Status.Sources, 1)
	assert.True(t, done.Status.Sources[0].Verified)
	assert.Equal(t, `"root"`, s.value("mark"))
}

// verify lets Flux verify a source, and waits until it did.
func (s *scene) verify(source *sourcev1.OCIRepository) {
	s.T.Helper()
	raw, err := json.Marshal(object{"spec": object{"verify": source.Spec.Verify}})
	require.NoError(s.T, err)
	require.NoError(s.T, s.Client().Patch(s.Ctx, source, client.RawPatch("application/merge-patch+json", raw)))
	require.NoError(s.T, s.Await(s.Ctx, source, func() bool { return conditions.IsTrue(source, sourcev1.SourceVerifiedCondition) }))
}

// enforcing replaces the controller that all tests share by one that accepts signed components only, until the test ends.
func (s *scene) enforcing() {
	s.T.Helper()
	s.controllerWith("--signature-verification-enforcement-policy=Enforce")
}

// controllerWith replaces the controller that all tests share by one with flags, until the test ends.
func (s *scene) controllerWith(flags ...string) {
	s.T.Helper()
	shared := s.Processes[landscape.Controller]
	require.NoError(s.T, shared.Stop(landscape.Patience))
	s.T.Cleanup(func() { require.NoError(s.T, shared.Restart()) })
	landscape.Run(s.Ctx, s.T, s.Cluster, landscape.Controller, landscape.AllRights, "controller", flags...)
}

// TestC11EnforcedSignatures runs alone: it replaces the controller that all tests share.
func TestC11EnforcedSignatures(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	key, public := newKey(t)
	s.publishSigned(key, marked("example.com/root", "1.0.0", "root", "example.com/sub", "1.0.0"), marked("example.com/sub", "1.0.0", "sub", "", ""))
	s.publish(marked("example.com/root", "2.0.0", "root", "", ""))
	s.trust(public)
	s.enforcing()
	s.install("signed", signed("blueprint"))
	s.install("silent", of("example.com/root", "1.0.0", "blueprint", nil))
	unsigned := signed("blueprint")
	unsigned["componentDescriptor"] = object{"ref": object{"componentName": "example.com/root", "version": "2.0.0"}}
	s.install("unsigned", unsigned)
	s.install("without", object{"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": document(object{})}}}})

	done := s.succeeded("signed")
	assert.Equal(t, `"rootsub"`, s.value("mark"))
	assert.Equal(t, "SignatureVerified", conditions.GetReason(done, v1alpha1.ComponentVerifiedCondition))
	assert.Equal(t, "CoveredBySignature", conditions.GetReason(s.Child("signed", "below"), v1alpha1.ComponentVerifiedCondition))
	for name, reason := range map[string]string{
		"silent": "VerificationNotRequested", "unsigned": "VerificationFailed", "without": "VerificationNotRequested",
	} {
		failure := s.failed(name)
		assert.Equal(t, reason, failure.Reason, failure.Message)
		assert.Equal(t, "VerifySignature", failure.Operation, name)
		inst := s.Ended(name, v1alpha1.PhaseFailed)
		assert.True(t, conditions.IsFalse(inst, v1alpha1.ComponentVerifiedCondition), name)
		assert.Nil(t, inst.Status.ExecutionReference, name)
	}
	assert.Contains(t, s.failed("silent").Message, "name the signature in spec.verification.signatureName")
}

// inPlace is the blueprint of a sub-installation written in place, with one deploy item.
func inPlace(mark string) object {
	return object{"filesystem": object{"blueprint.yaml": document(object{"deployExecutions": goTemplate(mockTemplate(`{mark: "` + mark + `"}`))})}}
}

// TestT02UnderEnforceNoUnverifiedBlueprintRuns runs alone: it replaces the controller that all tests share.
func TestT02UnderEnforceNoUnverifiedBlueprintRuns(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	key, public := newKey(t)
	s.publishSigned(key, build("example.com/root", "1.0.0").blueprint("blueprint", object{
		"subinstallations": list{object{"name": "sub", "blueprint": inPlace("good")}},
	}, nil))
	s.trust(public)
	s.enforcing()
	root := signed("blueprint")
	delete(root, "exports")
	s.install("good", root)
	s.succeeded("good")
	child := s.Child("good", "sub")
	require.NotNil(t, child)
	ran := child.Status.JobID

	inline := signed("blueprint")
	delete(inline, "exports")
	inline["blueprint"] = object{"inline": inPlace("evil")}
	s.install("inline", inline)
	failure := s.failed("inline")
	assert.Equal(t, "VerificationFailed", failure.Reason)
	assert.Contains(t, failure.Message, "spec.blueprint.inline")

	patch, err := json.Marshal(object{
		"metadata": object{"annotations": object{v1alpha1.JobAnnotation: "forged"}},
		"spec":     object{"blueprint": object{"inline": inPlace("evil")}, "componentDescriptor": nil},
	})
	require.NoError(t, err)
	require.NoError(t, s.Client().Patch(s.Ctx, s.Installation(child.Name), client.RawPatch("application/merge-patch+json", patch)))
	s.Annotate(s.Installation("good"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.RequireJobs(2, "good")
	s.succeeded("good")
	for _, state := range s.Witness.States(s.Namespace) {
		assert.False(t, state.Name == child.Name && state.Status.JobID == "forged", "only the parent starts jobs")
	}
	child = s.Child("good", "sub")
	assert.Equal(t, v1alpha1.PhaseSucceeded, child.Status.Phase)
	assert.NotEqual(t, ran, child.Status.JobID)
	raw, err := json.Marshal(child.Spec.Blueprint)
	require.NoError(t, err)
	assert.NotContains(t, string(raw), "evil", "the next job of the parent puts the blueprint back")
}
