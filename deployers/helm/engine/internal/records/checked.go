// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

const (
	// maxRecord is how much text a record may unpack to: its Secret has 1 MiB at most, which may stand for a thousand times as much.
	maxRecord = 64 << 20
	// maxRecords is the same for those that are read together, such as the history of a release.
	maxRecords = 128 << 20
	// MaxRevisions is how many records of a release are read.
	MaxRevisions = 1000
	// MaxObjects is how many objects a revision may have, those of Lists included: Helm keeps each in several forms.
	MaxObjects = 20_000
	// Owner is the label of Secrets and ConfigMaps that hold records.
	Owner = "owner"
	// ByHelm is the value of the label.
	ByHelm = "helm"
	// recordKey is where Helm keeps a record in its Secret or ConfigMap.
	recordKey = "release"
	// separator is between the documents of a manifest.
	separator = "\n---"
)

// checked is a storage on a cluster. Whoever may write Secrets there can make records up, and Helm unpacks them without limit and passes over those that it
// cannot read. Here, a record that cannot be read is an error that names it. Helm's own driver writes only.
type checked struct {
	driver.Driver
	kept keeper
}

// keeper has the records of a namespace as they are stored.
type keeper interface {
	get(ctx context.Context, name string) (stored, error)
	list(ctx context.Context, selector string) ([]stored, error)
	remove(name string) error
	kind() string
}

// stored is a record as it is stored.
type stored struct {
	name   string
	labels map[string]string
	packed []byte
}

// NewChecked returns a storage around Helm's own, whose records are Secrets of a namespace, or ConfigMaps.
func NewChecked(inner driver.Driver, config *rest.Config, namespace string, inMaps bool) (driver.Driver, error) {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster of the records: %w", err)
	}
	if inMaps {
		return checked{Driver: inner, kept: inConfigMaps{client.ConfigMaps(namespace)}}, nil
	}
	return checked{Driver: inner, kept: inSecrets{client.Secrets(namespace)}}, nil
}

// Get returns a record.
func (c checked) Get(key string) (*release.Release, error) {
	found, err := c.kept.get(context.Background(), key)
	if apierrors.IsNotFound(err) {
		return nil, driver.ErrReleaseNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s with the record cannot be read: %w", c.kept.kind(), key, err)
	}
	maps.DeleteFunc(found.labels, func(name, _ string) bool { return slices.Contains(driver.GetSystemLabels(), name) })
	left := maxRecord
	return c.read(found, &left)
}

// List returns the records that pass a filter.
func (c checked) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	all, err := c.Query(map[string]string{Owner: ByHelm})
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	return slices.DeleteFunc(all, func(rel *release.Release) bool { return !filter(rel) }), err
}

// Query returns the records with the given labels.
func (c checked) Query(wanted map[string]string) ([]*release.Release, error) {
	selector, err := labels.ValidatedSelectorFromSet(wanted)
	if err != nil {
		return nil, err
	}
	all, err := c.kept.list(context.Background(), selector.String())
	if err != nil {
		return nil, fmt.Errorf("the records of the release cannot be listed: %w", err)
	}
	if len(all) == 0 {
		return nil, driver.ErrReleaseNotFound
	}
	if name := wanted["name"]; name != "" && len(all) > MaxRevisions {
		return nil, unreadable{fmt.Errorf("helm release %s has %d records, more than %d; delete the oldest %ss with the labels %s=%s and name=%s, and set "+
			"maxHistory", name, len(all), MaxRevisions, c.kept.kind(), Owner, ByHelm, name)}
	}
	found, left := make([]*release.Release, 0, len(all)), maxRecords
	for _, one := range all {
		rel, err := c.read(one, &left)
		if err != nil {
			return nil, err
		}
		found = append(found, rel)
	}
	return found, nil
}

// Delete removes a record and returns it.
func (c checked) Delete(key string) (*release.Release, error) {
	rel, err := c.Get(key)
	if err != nil {
		return nil, err
	}
	return rel, c.kept.remove(key)
}

// read reads a record, whose text is taken off what is left.
func (c checked) read(one stored, left *int) (*release.Release, error) {
	rel, err := decode(one.packed, left)
	if err != nil {
		return nil, fmt.Errorf("%s %s is %w: %w; delete it, or correct it", c.kept.kind(), one.name, ErrUnreadable, err)
	}
	rel.Labels = one.labels
	return rel, nil
}

// ErrUnreadable says that a record is none, or takes too much.
var ErrUnreadable = errors.New("no record of a Helm release that can be read")

// unreadable is ErrUnreadable in words of its own.
type unreadable struct{ error }

// Is reports whether errors of this type are to be found as another one.
func (unreadable) Is(target error) bool { return target == ErrUnreadable }

var errTooLarge = fmt.Errorf("the records of a release unpack to more than %d MiB each or %d MiB together", maxRecord>>20, maxRecords>>20)

// decode reads a record as Helm writes it, within a limit.
func decode(packed []byte, left *int) (*release.Release, error) {
	unpacked, err := base64.StdEncoding.DecodeString(string(packed))
	if err != nil {
		return nil, errors.New("it is not in base64")
	}
	if bytes.HasPrefix(unpacked, []byte{0x1f, 0x8b, 0x08}) {
		if unpacked, err = unzip(unpacked, min(maxRecord, *left)); err != nil {
			return nil, err
		}
	}
	*left -= len(unpacked)
	rel := &release.Release{}
	switch err := json.Unmarshal(unpacked, rel); {
	case err != nil:
		return nil, errors.New("it is no JSON of a release")
	case rel.Info == nil || slices.Contains(rel.Hooks, nil):
		return nil, errors.New("parts are missing in it")
	case documentsOf(rel) > MaxObjects:
		return nil, fmt.Errorf("its manifests have more than %d objects", MaxObjects)
	}
	return rel, nil
}

// documentsOf returns how many documents the manifests of a record have at most.
func documentsOf(rel *release.Release) int {
	count := strings.Count(rel.Manifest, separator)
	for _, hook := range rel.Hooks {
		count += strings.Count(hook.Manifest, separator) + 1
	}
	return count
}

func unzip(packed []byte, most int) ([]byte, error) {
	from, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, errors.New("it cannot be unpacked")
	}
	text, err := io.ReadAll(io.LimitReader(from, int64(max(most, 0))+1))
	switch {
	case err != nil:
		return nil, errors.New("it cannot be unpacked")
	case len(text) > most:
		return nil, errTooLarge
	}
	return text, nil
}

type inSecrets struct{ corev1client.SecretInterface }

func (inSecrets) kind() string { return "Secret" }

func (s inSecrets) get(ctx context.Context, name string) (stored, error) {
	found, err := s.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return stored{}, err
	}
	return stored{found.Name, found.Labels, found.Data[recordKey]}, nil
}

func (s inSecrets) list(ctx context.Context, selector string) ([]stored, error) {
	found, err := s.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	all := make([]stored, 0, len(found.Items))
	for _, one := range found.Items {
		all = append(all, stored{one.Name, one.Labels, one.Data[recordKey]})
	}
	return all, nil
}

func (s inSecrets) remove(name string) error {
	return s.Delete(context.Background(), name, metav1.DeleteOptions{})
}

type inConfigMaps struct {
	corev1client.ConfigMapInterface
}

func (inConfigMaps) kind() string { return "ConfigMap" }

func (c inConfigMaps) get(ctx context.Context, name string) (stored, error) {
	found, err := c.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return stored{}, err
	}
	return stored{found.Name, found.Labels, []byte(found.Data[recordKey])}, nil
}

func (c inConfigMaps) list(ctx context.Context, selector string) ([]stored, error) {
	found, err := c.List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	all := make([]stored, 0, len(found.Items))
	for _, one := range found.Items {
		all = append(all, stored{one.Name, one.Labels, []byte(one.Data[recordKey])})
	}
	return all, nil
}

func (c inConfigMaps) remove(name string) error {
	return c.Delete(context.Background(), name, metav1.DeleteOptions{})
}
