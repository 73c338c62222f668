// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// Limits of the records that a cluster holds of a release: the unpacked text, and what its values take in memory beside that.
const (
	maxRecord  = 64 << 20
	maxRecords = 128 << 20
	// MaxRevisions is how many records of a release are read.
	MaxRevisions = 1000
	// MaxObjects is how many objects the manifests of a record may have, those of hooks and Lists included, and maxAllObjects those of all records of a
	// release: each becomes a tree of its own, and objects of two revisions are compared with each other.
	MaxObjects    = 20_000
	maxAllObjects = 10 * MaxObjects
	// objectCost is what an empty object takes, of those in a record a hook most; valueCost is what any other value takes in a list or a map.
	objectCost = 256
	valueCost  = 64
	// Owner is the label of Secrets and ConfigMaps that hold records, and ByHelm its value.
	Owner  = "owner"
	ByHelm = "helm"
	// recordKey is where Helm keeps a record in its Secret or ConfigMap.
	recordKey = "release"
)

// checked is a storage on a cluster. Whoever may write Secrets there can make records up, and Helm unpacks them without limit and trusts that nothing is
// missing in them. Here, a record that cannot be read is an error that names it. Helm's own driver writes only.
type checked struct {
	driver.Driver
	kept  keeper
	bound Bound
}

// Bound is what an operation may have of records in memory.
type Bound struct {
	// Context ends the waits for room.
	Context context.Context
	// Claim of the call; nil bounds only what is read at once.
	Claim *Claim
	// Waits is called before a wait.
	Waits func()
}

func (b Bound) waits() {
	if b.Waits != nil {
		b.Waits()
	}
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
func NewChecked(inner driver.Driver, config *rest.Config, namespace string, inMaps bool, bound Bound) (driver.Driver, error) {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return claiming{next} })
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster of the records: %w", err)
	}
	if inMaps {
		return checked{Driver: inner, kept: inConfigMaps{client.ConfigMaps(namespace)}, bound: bound}, nil
	}
	return checked{Driver: inner, kept: inSecrets{client.Secrets(namespace)}, bound: bound}, nil
}

// Get returns a record.
func (c checked) Get(key string) (*release.Release, error) {
	found, err := c.readWithRoom(maxRecord, func(ctx context.Context) ([]stored, error) {
		found, err := c.kept.get(ctx, key)
		if apierrors.IsNotFound(err) {
			return nil, driver.ErrReleaseNotFound
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s with the record cannot be read: %w", c.kept.kind(), key, err)
		}
		maps.DeleteFunc(found.labels, func(name, _ string) bool { return slices.Contains(driver.GetSystemLabels(), name) })
		return []stored{found}, nil
	})
	if err != nil {
		return nil, err
	}
	return found[0], nil
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
	return c.readWithRoom(maxRecords, func(ctx context.Context) ([]stored, error) {
		all, err := c.kept.list(ctx, selector.String())
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
		return all, nil
	})
}

// readWithRoom reads records, which may cost up to limit together. Those for which there is no room are got anew once there is: who waits holds none.
func (c checked) readWithRoom(limit int, get func(context.Context) ([]stored, error)) ([]*release.Release, error) {
	answers := c.bound.Claim.ofAnswers()
	defer answers.End()
	all, err := c.obtain(answers, get)
	if err != nil {
		return nil, err
	}
	before := c.bound.Claim.holds()
	found, cost, err := c.readAll(all, limit)
	if !errors.Is(err, ErrBusy) {
		return found, err
	}
	c.bound.Claim.giveBack(before)
	measured := len(found) + 1 // that for which there was no room was measured, too
	found = nil
	if cost, err = c.costOf(all[measured:], limit, cost); err != nil {
		return nil, err
	}
	all = nil
	answers.giveBack(0)
	c.bound.waits()
	if err := c.bound.Claim.wait(c.bound.Context, cost); err != nil {
		return nil, err
	}
	if all, err = c.obtain(answers, get); err != nil {
		return nil, err
	}
	found, _, err = c.readAll(all, limit)
	return found, err
}

// readAll reads records, and returns what they cost. With an error it returns those before the one that cannot be read, and what they cost with that.
func (c checked) readAll(all []stored, limit int) (found []*release.Release, spent int, err error) {
	found = make([]*release.Release, 0, len(all))
	objects := 0
	for _, one := range all {
		rel, err := c.read(one, limit, &spent)
		if err != nil {
			return found, spent, err
		}
		if objects += rel.objects; objects > maxAllObjects {
			return found, spent, c.about(one, fmt.Errorf("with the other records of the release it has more than %d objects, those of Lists included", maxAllObjects))
		}
		rel.Labels = one.labels
		found = append(found, rel.Release)
	}
	return found, spent, nil
}

// costOf returns what records cost, without having them in memory, beside what was spent on others of the same release.
func (c checked) costOf(all []stored, limit, spent int) (int, error) {
	for _, one := range all {
		err := measureRecord(one.packed, min(maxRecord, limit-spent), &spent, c.bound)
		switch {
		case errors.Is(err, errNoTurn):
			return 0, err
		case err != nil:
			return 0, c.about(one, err)
		}
	}
	return spent, nil
}

// Delete removes a record and returns it.
func (c checked) Delete(key string) (*release.Release, error) {
	rel, err := c.Get(key)
	if err != nil {
		return nil, err
	}
	return rel, c.kept.remove(key)
}

// read reads a record. What it costs comes to spent, which may not get beyond limit.
func (c checked) read(one stored, limit int, spent *int) (counted, error) {
	rel, err := readRecord(one.packed, min(maxRecord, limit-*spent), spent, c.bound)
	if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, errNoTurn) {
		err = c.about(one, err)
	}
	return rel, err
}

func (c checked) about(one stored, err error) error {
	return fmt.Errorf("%s %s is %w: %w; delete it, or correct it", c.kept.kind(), one.name, ErrUnreadable, err)
}

// ErrUnreadable says that a record is none, or takes too much.
var ErrUnreadable = errors.New("no record of a Helm release that can be read")

// unreadable is ErrUnreadable in words of its own.
type unreadable struct{ error }

// Is reports whether errors of this type are to be found as another one.
func (unreadable) Is(target error) bool { return target == ErrUnreadable }

var errRecordTooLarge = fmt.Errorf("the records of a release unpack to more than %d MiB each or %d MiB together", maxRecord>>20, maxRecords>>20)

// counted is a record with the number of its objects.
type counted struct {
	*release.Release
	objects int
}

// readRecord reads a record. Nobody waits with a small one, as almost all are.
func readRecord(packed []byte, limit int, spent *int, bound Bound) (counted, error) {
	if len(packed) <= smallRecords {
		rel, cost, err := decodeRecord(packed, min(limit, smallRecords), 0, nil)
		if !errors.Is(err, errRecordTooLarge) {
			*spent += cost
			return rel, err
		}
	}
	end, err := bound.takeTurn()
	if err != nil {
		return counted{}, err
	}
	defer end()
	rel, cost, err := decodeRecord(packed, limit, *spent, bound.Claim)
	*spent += cost
	return rel, err
}

// decodeRecord returns a record and what it costs, beside what others that the call has read have cost already. It measures the text before it has it in
// memory, in one piece of its size.
func decodeRecord(packed []byte, limit, already int, claim *Claim) (found counted, cost int, err error) {
	size, cost, err := measure(packed, limit)
	switch {
	case err != nil:
		return counted{}, cost, err
	case !claim.fits(already + cost):
		return counted{}, cost, ErrBusy
	}
	rel := &release.Release{}
	err = decode(packed, size, rel)
	switch {
	case err != nil:
		return counted{}, cost, errors.New("it is no JSON of a release")
	case rel.Info == nil || slices.Contains(rel.Hooks, nil):
		return counted{}, cost, errors.New("parts are missing in it")
	}
	objects, err := Objects(rel)
	switch {
	case err != nil:
		return counted{}, cost, fmt.Errorf("a manifest in it %w", err)
	case objects > MaxObjects:
		return counted{}, cost, fmt.Errorf("its manifests have more than %d objects, those of Lists included", MaxObjects)
	}
	return counted{rel, objects}, cost, nil
}

func decode(packed []byte, size int, rel *release.Release) error {
	from, err := unpack(packed)
	if err != nil {
		return err
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	return json.Unmarshal(text, rel)
}

// measureRecord adds to spent what a record costs.
func measureRecord(packed []byte, limit int, spent *int, bound Bound) error {
	end, err := bound.takeTurn()
	if err != nil {
		return err
	}
	defer end()
	_, cost, err := measure(packed, limit)
	*spent += cost
	return err
}

// measure returns the size of the text of a record and what it costs, without having it in memory. It ends as soon as that is more than the limit.
func measure(packed []byte, limit int) (size, cost int, err error) {
	from, err := unpack(packed)
	if err != nil {
		return 0, 0, err
	}
	text := &costly{from: from, left: limit}
	read, err := io.Copy(io.Discard, text)
	cost = limit - text.left
	switch {
	case text.left < 0:
		return 0, cost, errRecordTooLarge
	case err != nil:
		return 0, cost, errors.New("it cannot be unpacked")
	}
	return int(read), cost, nil
}

// unpack returns the text of a record.
func unpack(packed []byte) (io.Reader, error) {
	text := bufio.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed)))
	magic, err := text.Peek(3)
	var wrong base64.CorruptInputError
	switch {
	case errors.As(err, &wrong):
		return nil, errors.New("it is not in base64")
	case !bytes.Equal(magic, []byte{0x1f, 0x8b, 0x08}):
		return text, nil
	}
	unzipped, err := gzip.NewReader(text)
	if err != nil {
		return nil, errors.New("it cannot be unpacked")
	}
	return unzipped, nil
}

// costly reads JSON until that costs too much.
type costly struct {
	from io.Reader
	left int
	// inText says that what follows is in a text, isEscaped that the next sign is no end of it.
	inText, isEscaped bool
}

func (c *costly) Read(into []byte) (int, error) {
	n, err := c.from.Read(into)
	c.left -= n
	for _, sign := range into[:n] {
		c.count(sign)
	}
	if c.left < 0 {
		return 0, errors.New("too much")
	}
	return n, err
}

// count adds the costs of a value to those of the text where the sign begins one.
func (c *costly) count(sign byte) {
	switch {
	case c.isEscaped:
		c.isEscaped = false
	case c.inText && sign == '\\':
		c.isEscaped = true
	case sign == '"':
		c.inText = !c.inText
	case c.inText:
	case sign == '{':
		c.left -= objectCost
	case sign == '[', sign == ',':
		c.left -= valueCost
	}
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
