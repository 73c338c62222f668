// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	certutil "k8s.io/client-go/util/cert"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// host keeps what deployers need in the own cluster: a ServiceAccount, its rights, and a Secret with a kubeconfig of it. It works without the
// landscaper cluster.
type host struct {
	config *Configuration
	server *hostServer
	client client.Client
	live   client.Reader
	now    func() time.Time
	// ready is closed when everything was there for the first time.
	ready   chan struct{}
	isReady atomic.Bool
	// isRetired says that nothing of the other kind of rights is left.
	isRetired bool
	say       func(eventType, reason, message string)
	// trouble is why something of it cannot be made.
	trouble *trouble
	// ended says that the Environment is being deleted, so that nothing is made any more.
	ended atomic.Bool
	// isLeft says that something was made while the Environment ended, which is still to be taken away.
	isLeft bool
	retry  *queue.Backoff
	again  nudge
}

// hostCache restricts the cache of the own cluster to the objects of the agent.
func hostCache(config *Configuration) map[client.Object]cache.ByObject {
	of := func(namespace, name string) cache.ByObject {
		only := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name), Transform: protocol.StripManagedFields}
		if namespace != "" {
			only.Namespaces = map[string]cache.Config{namespace: {}}
		}
		return only
	}
	objects := map[client.Object]cache.ByObject{
		&corev1.ServiceAccount{}: of(config.Namespace, config.accountName()),
		&corev1.Secret{}:         of(config.Namespace, config.accessName()),
	}
	if config.HostRights == ClusterRights {
		objects[&rbacv1.ClusterRole{}] = of("", config.rightsName())
		objects[&rbacv1.ClusterRoleBinding{}] = of("", config.rightsName())
		return objects
	}
	objects[&rbacv1.Role{}] = of(config.Namespace, config.rightsName())
	objects[&rbacv1.RoleBinding{}] = of(config.Namespace, config.rightsName())
	return objects
}

// setup watches the objects.
func (h *host) setup(mgr ctrl.Manager) error {
	rights := h.config.rights(h.config.HostRights)
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return []ctrl.Request{h.request()} })
	return ctrl.NewControllerManagedBy(mgr).Named("agent-host").
		WatchesRawSource(h.again.source(h.request())).
		Watches(&corev1.ServiceAccount{}, one).
		Watches(&corev1.Secret{}, one).
		Watches(rights[0], one).
		Watches(rights[1], one).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, SkipNameValidation: new(true)}).
		Complete(h)
}

// look asks for another kubeconfig of the deployers where the own cluster has other authorities now.
func (h *host) look() {
	if h.server.reload() {
		h.again.again()
	}
}

func (h *host) request() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: h.config.Namespace, Name: h.config.accountName()}}
}

// Reconcile makes what is missing, mends what differs and renews the token when its time has come. It returns when that will be.
func (h *host) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if h.ended.Load() && !h.isLeft {
		return ctrl.Result{}, nil
	}
	left, err := h.keep(ctx)
	if err != nil {
		h.trouble.met(fmt.Errorf("the deployers have no access to the own cluster: %w", err), byHost)
		after := h.retry.After(request.NamespacedName, err)
		ctrl.LoggerFrom(ctx).Error(err, "unable to give the deployers their access to the own cluster", "retryAfter", after.String())
		return ctrl.Result{RequeueAfter: after}, nil
	}
	h.retry.Forget(request.NamespacedName)
	h.trouble.over()
	if h.isReady.CompareAndSwap(false, true) {
		close(h.ready)
	}
	return ctrl.Result{RequeueAfter: left}, nil
}

// keep makes what is missing, and takes away again what it has made while the Environment ended: the end did not wait for it.
func (h *host) keep(ctx context.Context) (time.Duration, error) {
	if !h.isLeft {
		left, err := h.ensure(ctx)
		if !h.ended.Load() {
			return left, err
		}
	}
	err := h.uninstall(ctx)
	h.isLeft = err != nil
	return 0, err
}

func (h *host) ensure(ctx context.Context) (time.Duration, error) {
	account := h.config.Account()
	if err := h.client.Get(ctx, client.ObjectKeyFromObject(account), account); apierrors.IsNotFound(err) {
		if err := ignoreExisting(h.client.Create(ctx, account)); err != nil {
			return 0, fmt.Errorf("create ServiceAccount %s: %w", client.ObjectKeyFromObject(account), err)
		}
	} else if err != nil {
		return 0, err
	}
	if err := h.ensureRights(ctx); err != nil {
		return 0, err
	}
	left, err := h.ensureAccess(ctx, string(account.UID))
	return left, errors.Join(err, h.retire(ctx))
}

// ensureRights keeps the role and its binding. Who changes the role of a binding has to delete it: API servers refuse to change it.
func (h *host) ensureRights(ctx context.Context) error {
	for _, object := range h.config.rights(h.config.HostRights) {
		_, err := controllerutil.CreateOrUpdate(ctx, h.client, object, func() error {
			h.config.grant(object)
			return nil
		})
		if err := ignoreExisting(err); err != nil {
			return fmt.Errorf("give the deployers their rights by %q: %w", object.GetName(), err)
		}
	}
	return nil
}

// retire deletes, once for each process, the rights of the other kind, which an agent with another hostRights has left.
func (h *host) retire(ctx context.Context) error {
	if h.isRetired {
		return nil
	}
	former := h.config.rights(h.config.HostRights.other())
	for _, object := range slices.Backward(former) { // the binding first
		err := h.live.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil && !h.config.isGranted(object) {
			break // the binding belongs to somebody else, so the role does, too
		}
		if err == nil {
			uid := object.GetUID()
			err = h.client.Delete(ctx, object, client.Preconditions{UID: &uid})
		}
		if apierrors.IsForbidden(err) {
			h.say(corev1.EventTypeWarning, "RightsLeft", fmt.Sprintf("hostRights is %s, and the agent may not remove %s %q, by which "+
				"the deployers keep other rights; delete it if there is one", h.config.HostRights, h.kind(object), object.GetName()))
			continue
		}
		if err := client.IgnoreNotFound(err); err != nil {
			return fmt.Errorf("delete %s %q, which hostRights: %s does not need: %w", h.kind(object), object.GetName(), h.config.HostRights, err)
		}
	}
	h.isRetired = true
	return nil
}

// kind returns the kind of a typed object.
func (h *host) kind(object client.Object) string {
	kind, err := h.client.GroupVersionKindFor(object)
	if err != nil {
		return fmt.Sprintf("%T", object)
	}
	return kind.Kind
}

// uninstall removes what the agent has made, rights first, and forgets nothing: it can be repeated.
func (h *host) uninstall(ctx context.Context) error {
	h.ended.Store(true)
	rights := h.config.rights(h.config.HostRights)
	slices.Reverse(rights)
	objects := append([]client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.accessName()}},
	}, append(rights, h.config.Account())...)
	for _, object := range objects {
		if err := client.IgnoreNotFound(h.client.Delete(ctx, object)); err != nil {
			return &ofHost{fmt.Errorf("delete %s %q of the own cluster: %w", h.kind(object), object.GetName(), err)}
		}
	}
	return nil
}

// token requests a token of the ServiceAccount.
func (h *host) token(ctx context.Context) (*authenticationv1.TokenRequestStatus, error) {
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := h.config.Account()
	if err := h.client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("request a token of ServiceAccount %s: %w", client.ObjectKeyFromObject(account), err)
	}
	return &request.Status, nil
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

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

// hostServer says how the own cluster is reached. The file with its authorities may change at any time. It is safe for concurrent use.
type hostServer struct{ config atomic.Pointer[rest.Config] }

// newHostServer reads the files of a connection to the own cluster.
func newHostServer(config *rest.Config) (*hostServer, error) {
	config = rest.CopyConfig(config)
	inline := config.CAData
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("read the certificates of the own cluster: %w", err)
	}
	if len(inline) > 0 {
		config.CAFile = "" // the file does not count
	}
	s := &hostServer{}
	s.config.Store(config)
	return s, nil
}

// get returns the connection with the content of the file.
func (s *hostServer) get() *rest.Config { return s.config.Load() }

// reload reads the file again and reports whether it has changed. A file without certificates leaves what was there: it is being written.
func (s *hostServer) reload() bool {
	next := rest.CopyConfig(s.get())
	if next.CAFile == "" {
		return false
	}
	authorities, err := os.ReadFile(next.CAFile)
	if err != nil || bytes.Equal(authorities, next.CAData) {
		return false
	}
	if _, err := certutil.ParseCertsPEM(authorities); err != nil {
		return false
	}
	next.CAData = authorities
	s.config.Store(next)
	return true
}
