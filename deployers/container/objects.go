// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// maxSecret is how many bytes the values of a Secret may have.
const maxSecret = 1 << 20

// host is what one item has on the host cluster.
type host struct {
	options *Options
	names   names
}

func (o *Options) hostFor(item types.NamespacedName) host { return host{o, namesOf(item, o.Identity)} }

// problem is an error about an object; nil stays nil.
func (h host) problem(doing, kind, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, h.describe(kind, name), err)
}

func (h host) describe(kind, name string) string {
	return fmt.Sprintf("%s %s/%s of the host cluster", kind, h.options.Namespace, name)
}

// find reads an object of the item, and reports whether it is there.
func (h host) find(ctx context.Context, kind, name string, into client.Object) (bool, error) {
	err := h.options.Host.Client.Get(ctx, types.NamespacedName{Namespace: h.options.Namespace, Name: name}, into)
	return err == nil && h.names.owns(into), h.problem("read", kind, name, client.IgnoreNotFound(err))
}

// pod reads the Pod; nil when there is none.
func (h host) pod(ctx context.Context) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if found, err := h.find(ctx, "Pod", h.names.base, pod); err != nil || !found {
		return nil, err
	}
	return pod, nil
}

// secret reads a Secret; nil where there is none.
func (h host) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	if found, err := h.find(ctx, "Secret", name, secret); err != nil || !found {
		return nil, err
	}
	return secret, nil
}

// listed returns the objects of a kind.
func (h host) listed(ctx context.Context, kind schema.GroupVersionKind) ([]metav1.PartialObjectMetadata, error) {
	objects, err := list(ctx, h.options, kind, h.names.labels())
	return slices.DeleteFunc(objects, func(object metav1.PartialObjectMetadata) bool { return !h.names.owns(&object) }), err
}

// remove deletes an object as it was read. One that is gone, or that was changed since, is left.
func (h host) remove(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	err := h.options.Host.Client.Delete(ctx, object, client.Preconditions{UID: &object.UID, ResourceVersion: &object.ResourceVersion})
	return h.problem("delete", object.Kind, object.Name, client.IgnoreNotFound(err))
}

// removeAll deletes all objects but the Pod.
func (h host) removeAll(ctx context.Context) error {
	for _, kind := range kinds[1:] {
		objects, err := h.listed(ctx, kind)
		for i := 0; err == nil && i < len(objects); i++ {
			err = h.remove(ctx, &objects[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stored are the Secrets of one item on the host cluster, by name, without their content.
type stored map[string]*metav1.PartialObjectMetadata

// ofType returns the Secrets of a type, by name.
func (s stored) ofType(kind string) []*metav1.PartialObjectMetadata {
	var found []*metav1.PartialObjectMetadata
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if s[name].Labels[sidecar.Type] == kind {
			found = append(found, s[name])
		}
	}
	return found
}

// ofJobs are the types of the Secrets that a Pod mounts and that go with its job.
var ofJobs = []string{sidecar.TypeConfig, sidecar.TypeTarget, sidecar.TypePull}

// store writes what the Pod mounts. What is the same already is not written.
func (r *run) store(ctx context.Context, s *supplies, have stored) error {
	marks := map[string]string{sidecar.Job: r.job()}
	if err := r.put(ctx, have, r.names.config(), sidecar.TypeConfig, marks, sidecar.ConfigurationKey, s.configuration); err != nil {
		return err
	}
	if s.target != nil {
		of := maps.Clone(marks)
		if s.ofHost {
			of[sidecar.HostCredentials] = "true"
		}
		if err := r.put(ctx, have, r.names.target(), sidecar.TypeTarget, of, sidecar.TargetKey, s.target); err != nil {
			return err
		}
	}
	if s.logins != nil {
		if err := r.put(ctx, have, r.names.pull(), sidecar.TypePull, marks, corev1.DockerConfigJsonKey, s.logins); err != nil {
			return err
		}
	}
	return r.storeContent(ctx, s, have)
}

// contentNames returns the names of the Secrets with the content, in order.
func (r *run) contentNames(s *supplies, have stored) []string {
	if s.keepContent {
		return keptContent(have)
	}
	names := make([]string, (len(s.content)+sidecar.PieceBytes-1)/sidecar.PieceBytes)
	for i := range names {
		names[i] = r.names.content(i)
	}
	return names
}

// storeContent writes the archive of the content in pieces. It stays after the job, so that a deletion does not need the registry.
func (r *run) storeContent(ctx context.Context, s *supplies, have stored) error {
	if s.keepContent {
		return nil
	}
	names := r.contentNames(s, have)
	for i, name := range names {
		piece := s.content[i*sidecar.PieceBytes : min((i+1)*sidecar.PieceBytes, len(s.content))]
		marks := map[string]string{sidecar.Num: strconv.Itoa(i), sidecar.Count: strconv.Itoa(len(names)), sidecar.Size: strconv.Itoa(len(piece))}
		if err := r.put(ctx, have, name, sidecar.TypeContent, marks, sidecar.PieceKey, piece); err != nil {
			return err
		}
	}
	for _, old := range have.ofType(sidecar.TypeContent) {
		if slices.Contains(names, old.Name) {
			continue
		}
		if err := r.remove(ctx, old); err != nil {
			return err
		}
	}
	return nil
}

// keptContent returns the names of the Secrets with the content of an earlier job, none where it is not complete.
func keptContent(have stored) []string {
	pieces := have.ofType(sidecar.TypeContent)
	names := make([]string, len(pieces))
	for _, piece := range pieces {
		num, err := strconv.Atoi(piece.Annotations[sidecar.Num])
		if err != nil || num < 0 || num >= len(names) || piece.Annotations[sidecar.Count] != strconv.Itoa(len(pieces)) {
			return nil
		}
		names[num] = piece.Name
	}
	if slices.Contains(names, "") {
		return nil
	}
	return names
}

// put makes a Secret hold one value.
func (r *run) put(ctx context.Context, have stored, name, kind string, marks map[string]string, key string, value []byte) error {
	sum := sha256.Sum256(value)
	annotations := map[string]string{sidecar.Hash: hex.EncodeToString(sum[:])}
	maps.Copy(annotations, marks)
	secret := &corev1.Secret{
		ObjectMeta: r.names.meta(r.options.Namespace, name, kind, annotations),
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{key: value},
	}
	if key == corev1.DockerConfigJsonKey {
		secret.Type = corev1.SecretTypeDockerConfigJson
	}
	host := r.options.Host.Client
	known := have[name]
	if known == nil {
		return r.foreign(host.Create(ctx, secret), "Secret", name)
	}
	if known.DeletionTimestamp == nil && equality.Semantic.DeepEqual(known.Annotations, secret.Annotations) && known.Labels[sidecar.Type] == kind {
		return nil
	}
	secret.ResourceVersion, secret.UID = known.ResourceVersion, known.UID
	return r.problem("update", "Secret", name, host.Update(ctx, secret))
}

// foreign explains that an object to create exists already and is not one of the item.
func (r *run) foreign(err error, kind, name string) error {
	if apierrors.IsAlreadyExists(err) {
		return protocol.Stall(operationReconcile, "ForeignObject", "%s exists and does not belong to the DeployItem; remove it", r.describe(kind, name))
	}
	return r.problem("create", kind, name, err)
}

// identify makes the ServiceAccount of the wait container, without which no API server takes its Pod.
func (r *run) identify(ctx context.Context) error {
	account := &corev1.ServiceAccount{
		ObjectMeta: r.names.meta(r.options.Namespace, r.names.base, sidecar.TypeIdentity, nil), AutomountServiceAccountToken: new(false),
	}
	return provide(ctx, r, "ServiceAccount", account, &corev1.ServiceAccount{}, func(have *corev1.ServiceAccount) bool {
		return have.AutomountServiceAccountToken != nil && !*have.AutomountServiceAccountToken
	})
}

// authorize gives the ServiceAccount a Role that allows what the wait container does and nothing else: to watch its Pod, and to apply Secrets of the
// names that its exports and its state may have. Creating by apply is the one kind of creation that names can restrict.
func (r *run) authorize(ctx context.Context) error {
	o := r.options
	meta := r.names.meta(o.Namespace, r.names.base, sidecar.TypeIdentity, nil)
	secrets := []string{r.names.export()}
	for _, prefix := range []string{r.names.state(0), r.names.state(1)} {
		for i := range o.stateLimit() {
			secrets = append(secrets, prefix+strconv.FormatInt(i, 10))
		}
	}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{r.names.base}, Verbs: []string{"get", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: secrets, Verbs: []string{"create", "patch"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: meta.Name, Namespace: o.Namespace}},
	}
	if err := provide(ctx, r, "Role", role, &rbacv1.Role{}, func(have *rbacv1.Role) bool {
		return equality.Semantic.DeepEqual(have.Rules, role.Rules)
	}); err != nil {
		return err
	}
	return provide(ctx, r, "RoleBinding", binding, &rbacv1.RoleBinding{}, func(have *rbacv1.RoleBinding) bool {
		return equality.Semantic.DeepEqual(have.Subjects, binding.Subjects) && have.RoleRef == binding.RoleRef
	})
}

// provide creates an object, or updates one that is not as it should be.
func provide[O client.Object](ctx context.Context, r *run, kind string, want, have O, isRight func(O) bool) error {
	host, name := r.options.Host.Client, want.GetName()
	err := host.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		return r.foreign(host.Create(ctx, want), kind, name)
	case err != nil:
		return r.problem("read", kind, name, err)
	case !r.names.owns(have):
		return r.foreign(apierrors.NewAlreadyExists(corev1.Resource(kind), name), kind, name)
	case isRight(have):
		return nil
	}
	want.SetResourceVersion(have.GetResourceVersion())
	want.SetUID(have.GetUID())
	return r.problem("update", kind, name, host.Update(ctx, want))
}
