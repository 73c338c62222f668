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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// maxSecret is how many bytes the values of a Secret may have.
const maxSecret = 1 << 20

// stored are the Secrets of one item on the host cluster, by name, without their content.
type stored map[string]*metav1.PartialObjectMetadata

func storedFor(ctx context.Context, o *Options, of names) (stored, error) {
	secrets, err := list(ctx, o, corev1.SchemeGroupVersion.WithKind("Secret"), of.selector())
	if err != nil {
		return nil, err
	}
	found := stored{}
	for i := range secrets {
		if of.owns(&secrets[i]) {
			found[secrets[i].Name] = &secrets[i]
		}
	}
	return found, nil
}

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
		if err := remove(ctx, r.deployer.options.Host.Client, old); err != nil {
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
		ObjectMeta: r.names.meta(r.deployer.options.Namespace, name, kind, annotations),
		Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{key: value},
	}
	if key == corev1.DockerConfigJsonKey {
		secret.Type = corev1.SecretTypeDockerConfigJson
	}
	host := r.deployer.options.Host.Client
	known := have[name]
	if known == nil {
		return r.foreign(host.Create(ctx, secret), "Secret", name)
	}
	if known.DeletionTimestamp == nil && equality.Semantic.DeepEqual(known.Annotations, secret.Annotations) && known.Labels[sidecar.Type] == kind {
		return nil
	}
	secret.ResourceVersion, secret.UID = known.ResourceVersion, known.UID
	if err := host.Update(ctx, secret); err != nil {
		return fmt.Errorf("update %s: %w", describeHost(secret.Namespace, "Secret", name), err)
	}
	return nil
}

// foreign explains that an object to create exists already and is not one of the item.
func (r *run) foreign(err error, kind, name string) error {
	at := describeHost(r.deployer.options.Namespace, kind, name)
	if apierrors.IsAlreadyExists(err) {
		return protocol.Stall(operationReconcile, "ForeignObject", "%s exists and does not belong to the DeployItem; remove it", at)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", at, err)
	}
	return nil
}

// identify makes the ServiceAccount of the wait container, without which no API server takes its Pod.
func (r *run) identify(ctx context.Context) error {
	off := false
	account := &corev1.ServiceAccount{
		ObjectMeta: r.names.meta(r.deployer.options.Namespace, r.names.base, sidecar.TypeIdentity, nil), AutomountServiceAccountToken: &off,
	}
	return provide(ctx, r, "ServiceAccount", account, &corev1.ServiceAccount{}, func(have *corev1.ServiceAccount) bool {
		return have.AutomountServiceAccountToken != nil && !*have.AutomountServiceAccountToken
	})
}

// authorize gives the ServiceAccount a Role that allows what the wait container does and nothing else: to watch its Pod, and to apply Secrets of the
// names that its exports and its state may have. Creating by apply is the one kind of creation that names can restrict.
func (r *run) authorize(ctx context.Context) error {
	o := &r.deployer.options
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
	host, name := r.deployer.options.Host.Client, want.GetName()
	err := host.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case apierrors.IsNotFound(err):
		return r.foreign(host.Create(ctx, want), kind, name)
	case err != nil:
		return fmt.Errorf("read %s: %w", describeHost(want.GetNamespace(), kind, name), err)
	case !r.names.owns(have):
		return r.foreign(apierrors.NewAlreadyExists(corev1.Resource(kind), name), kind, name)
	case isRight(have):
		return nil
	}
	want.SetResourceVersion(have.GetResourceVersion())
	want.SetUID(have.GetUID())
	if err := host.Update(ctx, want); err != nil {
		return fmt.Errorf("update %s: %w", describeHost(want.GetNamespace(), kind, name), err)
	}
	return nil
}

// remove deletes an object of the host cluster as it was read. One that is gone, or that was changed since, is left.
func remove(ctx context.Context, host client.Client, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	err := host.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", describeHost(object.GetNamespace(), "object", object.GetName()), err)
	}
	return nil
}
