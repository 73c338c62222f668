// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// newKey returns a key and its public half in PEM.
func newKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	raw, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	require.NoError(t, err)
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw}))
}

// publishSigned publishes versions, the first one signed; the others are what it refers to.
func (s *scene) publishSigned(key *rsa.PrivateKey, root *built, others ...*built) {
	s.T.Helper()
	byKey := map[component.Key]*component.Descriptor{}
	for _, other := range others {
		version := s.version(other)
		byKey[version.Descriptor.Key()] = version.Descriptor
	}
	s.publish(others...)
	version := s.version(root)
	resolver := component.Resolver(func(_ context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
		return byKey[key], nil
	})
	closed, err := component.Closure(s.Ctx, version.Descriptor, resolver, component.Limits{})
	require.NoError(s.T, err)
	version.Descriptor, err = component.Sign(closed, component.SignOptions{Name: "release", Key: key})
	require.NoError(s.T, err)
	s.push(s.base(), version, component.SchemaV2)
}

func (s *scene) trust(public string) {
	s.T.Helper()
	s.secret("keys", map[string]string{"key": public})
	s.useRegistry(object{"verificationSignatures": object{
		"release": object{"publicKeySecretReference": object{"name": "keys", "namespace": s.Namespace, "key": "key"}},
	}})
}

func signed(blueprint string) object {
	return of("example.com/root", "1.0.0", blueprint, object{
		"verification": object{"signatureName": "release"},
		"exports":      object{"data": list{object{"name": "mark", "dataRef": "mark"}}},
	})
}

func TestC11WrongSignaturesFail(t *testing.T) {
	s := newScene(t)
	key, _ := newKey(t)
	_, other := newKey(t)
	s.publishSigned(key, marked("example.com/root", "1.0.0", "root", "", ""))
	s.publish(marked("example.com/root", "2.0.0", "root", "", ""))
	s.trust(other)
	for name, version := range map[string]string{"other-key": "1.0.0", "unsigned": "2.0.0"} {
		spec := signed("blueprint")
		spec["componentDescriptor"] = object{"ref": object{"componentName": "example.com/root", "version": version}}
		s.install(name, spec)
		failure := s.failed(name)
		assert.Equal(t, "VerifySignature", failure.Operation, failure.Message)
		assert.Contains(t, failure.Message, "release")
		inst := s.Ended(name, v1alpha1.PhaseFailed)
		assert.True(t, conditions.IsFalse(inst, v1alpha1.ComponentVerifiedCondition))
		assert.Nil(t, inst.Status.ExecutionReference)
	}
}

func TestC11ReferenceReplacedAfterSigningFails(t *testing.T) {
	s := newScene(t)
	key, public := newKey(t)
	s.publishSigned(key, marked("example.com/root", "1.0.0", "root", "example.com/sub", "1.0.0"), marked("example.com/sub", "1.0.0", "sub", "", ""))
	s.publish(marked("example.com/sub", "1.0.0", "evil", "", ""))
	s.trust(public)
	s.install("root", signed("blueprint"))
	assert.Contains(t, s.failed("root").Message, "example.com/sub:1.0.0")
}

func TestC11UnknownSignatureNamesTheContext(t *testing.T) {
	s := newScene(t)
	s.publish(marked("example.com/root", "1.0.0", "root", "", ""))
	s.useRegistry(nil)
	s.install("root", signed("blueprint"))
	assert.Contains(t, s.failed("root").Message, "Context "+s.Namespace+`/default: verificationSignatures has no signature "release"`)
}
