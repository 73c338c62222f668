// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	// tokenLife is for how long a token is asked for.
	tokenLife = 30 * 24 * time.Hour
	// renewAnnotation, on the Target of a deployer, is when its token is to be replaced, as RFC 3339.
	renewAnnotation = "deployers.landscaper.gardener.cloud/renew-token-at"
	// accountAnnotation is the UID of the ServiceAccount whose token it is.
	accountAnnotation = "deployers.landscaper.gardener.cloud/service-account-uid"
)

// keepAccount makes the ServiceAccount of the deployer. One of somebody else is never used: the deployer would get its rights.
func (r *Reconciler) keepAccount(ctx context.Context, w *work) error {
	no := false
	wanted := &corev1.ServiceAccount{ObjectMeta: w.made(), AutomountServiceAccountToken: &no}
	w.account = &corev1.ServiceAccount{}
	err := r.Get(ctx, client.ObjectKeyFromObject(wanted), w.account)
	if apierrors.IsNotFound(err) {
		err = r.Create(ctx, wanted)
		if err == nil {
			w.account = wanted
			return nil
		}
		if apierrors.IsAlreadyExists(err) {
			err = r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), w.account)
		}
	}
	if err != nil {
		return err
	}
	return w.checkOwn("ServiceAccount", w.account)
}

// made is the metadata of what is made for a pair in the namespace of its Installation, and goes with it.
func (w *work) made() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: w.installation.Namespace, Name: w.key.Name(), Labels: w.key.Labels(),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.installation, v1alpha1.GroupVersion.WithKind("Installation"))},
	}
}

// checkOwn fails for an object that was not made for the Installation of the pair.
func (w *work) checkOwn(kind string, object client.Object) error {
	if err := w.key.CheckMade(operation, kind, object); err != nil {
		return err
	}
	if metav1.IsControlledBy(object, w.installation) && object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return protocol.Wait(operation, protocol.ReasonDeleting, "%s %s/%s of a former Installation is not gone yet; it is made again then",
		kind, object.GetNamespace(), object.GetName())
}

// keepAccess makes the Target by which the deployer reaches the landscaper cluster. A token that is due is replaced in the same write.
func (r *Reconciler) keepAccess(ctx context.Context, w *work) error {
	present := &v1alpha1.Target{}
	err := r.Get(ctx, client.ObjectKey{Namespace: w.installation.Namespace, Name: w.key.Name()}, present)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	token, renew := usableToken(present, w.account, w.now)
	if err == nil {
		if err := w.checkOwn("Target", present); err != nil {
			return err
		}
	}
	if token == "" {
		if token, renew, err = r.newToken(ctx, w); err != nil {
			return err
		}
	}
	w.wakeIn(renew.Sub(w.now))
	wanted, err := w.access(token, renew)
	if err != nil {
		return err
	}
	return r.keepTarget(ctx, wanted, func(present *v1alpha1.Target) error { return w.checkOwn("Target", present) })
}

// access describes the Target with a token.
func (w *work) access(token string, renew time.Time) (*v1alpha1.Target, error) {
	config, err := kubeconfig(&w.env.Spec.LandscaperClusterRestConfig, w.installation.Namespace, token)
	if err != nil {
		return nil, err
	}
	target := &v1alpha1.Target{
		ObjectMeta: w.made(), Spec: v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: config},
	}
	target.Annotations = map[string]string{
		renewAnnotation: renew.UTC().Format(time.RFC3339), accountAnnotation: string(w.account.UID),
	}
	return target, nil
}

// newToken asks for a token of the ServiceAccount. It returns when to replace it: after half of its life, however long the API server made that.
func (r *Reconciler) newToken(ctx context.Context, w *work) (string, time.Time, error) {
	life := cmp.Or(max(r.TokenLife, 0), tokenLife)
	seconds := int64(life.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if err := r.SubResource("token").Create(ctx, w.account, request); err != nil {
		if protocol.IsTransient(err) {
			return "", time.Time{}, err
		}
		return "", time.Time{}, protocol.Again(operation, "TokenRequestFailed", "no token for ServiceAccount %s/%s: %w", w.account.Namespace, w.account.Name, err)
	}
	return request.Status.Token, w.now.Add(request.Status.ExpirationTimestamp.Sub(w.now) / 2), nil
}

// usableToken returns the token in a Target and when it is due; none where it is due already or of another ServiceAccount.
func usableToken(target *v1alpha1.Target, account *corev1.ServiceAccount, now time.Time) (string, time.Time) {
	renew, err := time.Parse(time.RFC3339, target.Annotations[renewAnnotation])
	if err != nil || !now.Before(renew) || target.Annotations[accountAnnotation] != string(account.UID) || target.Spec.Configuration == nil {
		return "", time.Time{}
	}
	var content struct {
		Kubeconfig string `json:"kubeconfig"`
	}
	config := clientcmdv1.Config{}
	if json.Unmarshal(target.Spec.Configuration.RawMessage, &content) != nil || foreign.Unmarshal([]byte(content.Kubeconfig), &config) != nil ||
		len(config.AuthInfos) != 1 {
		return "", time.Time{}
	}
	return config.AuthInfos[0].AuthInfo.Token, renew
}

// kubeconfig returns the content of a Target: a kubeconfig for the landscaper cluster as the environment reaches it.
func kubeconfig(cluster *v1alpha1.ClusterRestConfig, namespace, token string) (*v1alpha1.AnyJSON, error) {
	const name = "landscaper"
	server := clientcmdv1.Cluster{
		Server: cluster.Host + cluster.APIPath, InsecureSkipTLSVerify: cluster.Insecure, TLSServerName: cluster.ServerName, ProxyURL: cluster.ProxyURL,
	}
	if !cluster.Insecure {
		server.CertificateAuthorityData = cluster.CAData
	}
	text, err := yaml.Marshal(clientcmdv1.Config{
		APIVersion: "v1", Kind: "Config", CurrentContext: name,
		Clusters:  []clientcmdv1.NamedCluster{{Name: name, Cluster: server}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: name, AuthInfo: clientcmdv1.AuthInfo{Token: token}}},
		Contexts:  []clientcmdv1.NamedContext{{Name: name, Context: clientcmdv1.Context{Cluster: name, AuthInfo: name, Namespace: namespace}}},
	})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(map[string]string{"kubeconfig": string(text)})
	if err != nil {
		return nil, err
	}
	content := v1alpha1.NewAnyJSON(raw)
	return &content, nil
}
