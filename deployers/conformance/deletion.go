// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func deletion(ctx context.Context, b *bench) error {
	s, _, err := b.succeeded(ctx, "delete")
	if err != nil {
		return err
	}
	marked, err := s.delete(ctx)
	if err != nil {
		return err
	}
	if err := s.quiet(ctx, marked); err != nil {
		return fmt.Errorf("before there was a job: %w", err)
	}
	job, err := s.start(ctx)
	if err != nil {
		return err
	}
	if err := s.isGone(ctx); err != nil {
		return err
	}
	return s.inOneWrite(job)
}

func deleteWithoutUninstall(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "without-uninstall", Good, func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
		item.Spec.Target = &v1alpha1.DeployItemTarget{Name: item.Name}
	})
	if err != nil {
		return err
	}
	if _, err := s.delete(ctx); err != nil {
		return err
	}
	if _, err := s.start(ctx); err != nil {
		return err
	}
	return s.isGone(ctx)
}

func otherTypes(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "other-type", Good, func(item *v1alpha1.DeployItem) { item.Spec.Type = "conformance.landscaper.gardener.cloud/" + b.run })
	if err != nil {
		return err
	}
	job, err := s.start(ctx)
	if err != nil {
		return err
	}
	handed, err := s.seen(ctx, "the job that was handed over", func(item *v1alpha1.DeployItem) bool { return item.Status.JobID == job })
	if err != nil {
		return err
	}
	return s.quiet(ctx, handed)
}

// delete asks for the deletion of the item and returns the version with that.
func (s *subject) delete(ctx context.Context) (*v1alpha1.DeployItem, error) {
	item := &v1alpha1.DeployItem{}
	if err := s.client.Get(ctx, s.key(), item); err != nil {
		return nil, err
	}
	if err := s.client.Delete(ctx, item, client.Preconditions{UID: &item.UID}); err != nil {
		return nil, err
	}
	return s.seen(ctx, "the deletion", func(item *v1alpha1.DeployItem) bool { return !item.DeletionTimestamp.IsZero() })
}

// cleanUp deletes the items that are left, and returns what may stay.
func (b *bench) cleanUp(ctx context.Context) []string {
	left := make([]string, len(b.items))
	b.each(len(b.items), func(i int) {
		if err := b.items[i].remove(ctx); err != nil {
			left[i] = err.Error()
		}
	})
	var all []string
	for _, one := range left {
		if one != "" {
			all = append(all, one)
		}
	}
	return all
}

// remove lets the deployer uninstall the item. Where the deployer does not, it removes the item and says so.
func (s *subject) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*s.JobTimeout)
	defer cancel()
	item := &v1alpha1.DeployItem{}
	if err := s.client.Get(ctx, s.key(), item); err != nil {
		return client.IgnoreNotFound(err)
	}
	own := item.Spec.Type == s.Type
	uninstalled := s.uninstall(ctx, item, own)
	if own && uninstalled != nil {
		return fmt.Errorf("DeployItem %s/%s is removed without uninstall, so what it deployed may be left; look for it (%w)", s.Namespace, s.name, uninstalled)
	}
	return s.exportStays(ctx, item)
}

func (s *subject) uninstall(ctx context.Context, item *v1alpha1.DeployItem, own bool) (err error) {
	if item.DeletionTimestamp.IsZero() {
		if err := s.client.Delete(ctx, item, client.Preconditions{UID: &item.UID}); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	if own {
		if _, err = s.start(ctx); err == nil {
			err = s.isGone(ctx)
		}
		if err == nil {
			return nil
		}
	}
	_, forced := s.edit(ctx, func(item *v1alpha1.DeployItem) { item.Finalizers = nil })
	if client.IgnoreNotFound(forced) != nil {
		return forced
	}
	return err
}

// exportStays says that nothing will remove the exports of an item that is gone.
func (s *subject) exportStays(ctx context.Context, item *v1alpha1.DeployItem) error {
	ref := item.Status.ExportReference
	if ref == nil || ref.Namespace != s.Namespace {
		return nil
	}
	secret := &corev1.Secret{}
	if err := s.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return client.IgnoreNotFound(err)
	}
	for _, owner := range secret.OwnerReferences {
		if owner.UID == item.UID {
			return nil
		}
	}
	if secret.DeletionTimestamp.IsZero() && !metav1.IsControlledBy(secret, item) {
		return fmt.Errorf("the Secret %s/%s with exports stays, because it has no owner reference to its DeployItem; delete it", ref.Namespace, ref.Name)
	}
	return nil
}
