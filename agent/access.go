// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Annotations of the Secret with the access: times as RFC 3339, and the UID of the ServiceAccount, with which its tokens end.
const (
	renewAnnotation   = "landscaper.gardener.cloud/token-renew-at"
	expiresAnnotation = "landscaper.gardener.cloud/token-expires-at"
	accountAnnotation = "landscaper.gardener.cloud/token-account-uid"
)

const (
	accessKey = "kubeconfig"
	// tokenLifetime is asked for; API servers may answer with another one.
	tokenLifetime = 12 * time.Hour
)

// ensureAccess keeps the Secret with the kubeconfig of the deployers, and returns how long its token need not be renewed.
func (h *host) ensureAccess(ctx context.Context, account string) (time.Duration, error) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.accessName()}}
	key := client.ObjectKeyFromObject(secret)
	err := h.live.Get(ctx, key, secret)
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return 0, fmt.Errorf("read Secret %s: %w", key, err)
	}
	namespaces := strings.Join(h.config.TargetNamespaces, ",")
	token, left := h.keptToken(secret, account)
	if left > 0 && secret.Annotations[v1alpha1.TargetNamespacesAnnotation] == namespaces {
		return left, nil
	}
	if left <= 0 {
		issued, err := h.token(ctx)
		if err != nil {
			return 0, err
		}
		renew := h.now().Add(issued.ExpirationTimestamp.Sub(h.now()) * 2 / 3).Truncate(time.Second)
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, renewAnnotation, renew.UTC().Format(time.RFC3339))
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, expiresAnnotation, issued.ExpirationTimestamp.UTC().Format(time.RFC3339))
		metav1.SetMetaDataAnnotation(&secret.ObjectMeta, accountAnnotation, account)
		token, left = issued.Token, renew.Sub(h.now())
	}
	metav1.SetMetaDataAnnotation(&secret.ObjectMeta, v1alpha1.TargetNamespacesAnnotation, namespaces)
	kubeconfig, err := accessKubeconfig(h.server.get(), token)
	if err != nil {
		return 0, err
	}
	secret.Data = map[string][]byte{accessKey: kubeconfig}
	write := func(secret *corev1.Secret) error { return h.client.Update(ctx, secret) }
	if isNew {
		write = func(secret *corev1.Secret) error { return h.client.Create(ctx, secret) }
	}
	if err := write(secret); err != nil {
		return 0, fmt.Errorf("write Secret %s: %w", key, err)
	}
	return max(left, time.Second), nil
}

// keptToken returns the token of a Secret and how long it need not be renewed; 0 where the Secret is not what the agent would write.
func (h *host) keptToken(secret *corev1.Secret, account string) (string, time.Duration) {
	renew, err := time.Parse(time.RFC3339, secret.Annotations[renewAnnotation])
	if err != nil || secret.Annotations[accountAnnotation] != account {
		return "", 0
	}
	config, err := clientcmd.Load(secret.Data[accessKey])
	if err != nil || config.AuthInfos[accessUser] == nil {
		return "", 0
	}
	token := config.AuthInfos[accessUser].Token
	wanted, err := accessKubeconfig(h.server.get(), token)
	if err != nil || token == "" || string(wanted) != string(secret.Data[accessKey]) {
		return "", 0
	}
	return token, renew.Sub(h.now())
}

const accessUser = "deployer"

// accessKubeconfig is a kubeconfig of the own cluster with a token.
func accessKubeconfig(server *rest.Config, token string) ([]byte, error) {
	const name = "host"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: server.Host, CertificateAuthorityData: server.CAData, InsecureSkipTLSVerify: server.Insecure, TLSServerName: server.ServerName,
	}
	config.AuthInfos[accessUser] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: accessUser, Namespace: ""}
	config.CurrentContext = name
	written, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of the deployers: %w", err)
	}
	return written, nil
}
