// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/cache"
	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Identity is a party that a cloud may know. It is safe for concurrent use.
type Identity struct {
	provider auth.ArtifactRegistryCredentialsProvider
	// account is nil for the identity of this process.
	account *corev1.ServiceAccount
	// party is what the cloud is told, from the annotations of the account.
	party   []string
	options []auth.Option
	timeout time.Duration
}

// Fits reports whether a host, given with its port, if any, is a registry of the cloud.
func (i *Identity) Fits(host string) bool {
	_, err := i.provider.ParseArtifactRepository(host)
	return err == nil
}

// Login returns a user and a password for a registry that fits. They are kept for as long as they are good, at most an hour. The error
// contains no token.
func (i *Identity) Login(ctx context.Context, host string) (user, password string, err error) {
	ctx, cancel := context.WithTimeout(ctx, i.timeout)
	defer cancel()
	// The cache of the library writes answers of clouds to the logger as they are.
	quiet := logr.NewContext(ctx, logr.Discard())
	found, err := auth.GetArtifactRegistryCredentials(quiet, i.provider, host, i.options...)
	if err != nil {
		return "", "", shown(err)
	}
	login, err := found.Authorization()
	if err != nil {
		return "", "", shown(err)
	}
	return login.Username, login.Password, nil
}

// Fingerprint is equal for the same party: a ServiceAccount that was made anew, or that names another party of the cloud, is another one.
func (i *Identity) Fingerprint() string {
	text := fmt.Sprintf("%q", i.provider.GetName())
	if i.account != nil {
		text += fmt.Sprintf(" %q %q %q %q", i.account.Namespace, i.account.Name, i.account.UID, i.party)
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// String names the identity in messages.
func (i *Identity) String() string {
	if i.account == nil {
		return fmt.Sprintf("the identity of this process at %s", i.provider.GetName())
	}
	return fmt.Sprintf("ServiceAccount %s/%s at %s", i.account.Namespace, i.account.Name, i.provider.GetName())
}

// use sets how the identity obtains logins. The library writes down nothing but tokens, under keys that are hashes.
func (i *Identity) use(reader client.Client, tokens *cache.TokenCache) {
	i.options = []auth.Option{auth.WithCache(*tokens, cache.InvolvedObject{})}
	if i.account != nil {
		i.options = append(i.options, auth.WithClient(pinned{reader, i.account}),
			auth.WithServiceAccountNamespace(i.account.Namespace), auth.WithServiceAccountName(i.account.Name))
	}
}

// pinned reads the ServiceAccount as it was when the identity was found, so that the fingerprint and the login are those of one party.
type pinned struct {
	client.Client
	account *corev1.ServiceAccount
}

// Get implements client.Client.
func (p pinned) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	account, ok := object.(*corev1.ServiceAccount)
	if !ok || key != client.ObjectKeyFromObject(p.account) {
		return p.Client.Get(ctx, key, object, options...)
	}
	p.account.DeepCopyInto(account)
	return nil
}
