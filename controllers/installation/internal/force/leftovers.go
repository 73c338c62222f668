// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package force

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// leftover is a DeployItem whose deployment stays behind, as it is written down for people.
type leftover struct {
	// Installation is the way from the deleted Installation to the one of the item.
	Installation string `json:"installation"`
	Item         string `json:"item"`
	Type         string `json:"type"`
	Target       string `json:"target,omitempty"`
	Phase        string `json:"phase,omitempty"`
	// Release is the Helm release, as namespace/name.
	Release string `json:"release,omitempty"`
	// Resources are what the deployer recorded on the target.
	Resources []recordedResource `json:"resources,omitempty"`
	// Omitted says that there are more resources than the record can hold.
	Omitted string `json:"omitted,omitempty"`
}

// recordedResource names an object on a target.
type recordedResource struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// recordedStatus is what the deployers' provider statuses have in common. Resources are references, or wrap one.
type recordedStatus struct {
	ManagedResources []struct {
		recordedResource `json:",inline"`
		Resource         *recordedResource `json:"resource"`
	} `json:"managedResources"`
	Release *struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"release"`
}

// describeLeftover says what is known of an item. A provider status of an unknown form tells nothing.
func describeLeftover(path string, item *v1alpha1.DeployItem) leftover {
	left := leftover{
		Installation: path, Item: cmp.Or(item.Labels[v1alpha1.ExecutionManagedNameLabel], item.Name), Type: item.Spec.Type, Phase: string(item.Status.Phase),
	}
	if item.Spec.Target != nil {
		left.Target = item.Spec.Target.Name
	}
	status := recordedStatus{}
	if item.Status.ProviderStatus == nil || json.Unmarshal(item.Status.ProviderStatus.Raw, &status) != nil {
		return left
	}
	if status.Release != nil {
		left.Release = status.Release.Namespace + "/" + status.Release.Name
	}
	for _, managed := range status.ManagedResources {
		resource := managed.recordedResource
		if managed.Resource != nil {
			resource = *managed.Resource
		}
		left.Resources = append(left.Resources, resource)
	}
	return left
}

// maxRecord is how many bytes of resources a record holds; a ConfigMap takes 1 MiB.
const maxRecord = 800 << 10

// encodeLeftovers writes the record, by name of the DeployItem. Resources that do not fit are left out, and the entry says so.
func encodeLeftovers(left map[string]leftover) (map[string]string, error) {
	data, size := map[string]string{}, 0
	for _, name := range slices.Sorted(maps.Keys(left)) {
		entry := left[name]
		if size+entry.bytes() > maxRecord {
			entry = entry.withoutResources()
		}
		raw, err := yaml.Marshal(entry)
		if err == nil && size+len(raw) > maxRecord {
			raw, err = yaml.Marshal(entry.withoutResources())
		}
		if err != nil {
			return nil, fmt.Errorf("encode what is left of DeployItem %s: %w", name, err)
		}
		size += len(raw)
		data[name] = string(raw)
	}
	return data, nil
}

// bytes is how many the resources take in a record at least.
func (l leftover) bytes() (n int) {
	for _, r := range l.Resources {
		n += len("- {}\n") + len(r.APIVersion) + len(r.Kind) + len(r.Namespace) + len(r.Name)
	}
	return n
}

// withoutResources says of the resources, if there are any, only how many there are.
func (l leftover) withoutResources() leftover {
	if len(l.Resources) > 0 {
		l.Omitted, l.Resources = fmt.Sprintf("%d resources did not fit", len(l.Resources)), nil
	}
	return l
}

// shorten leaves out the resources that no record has room for beside those that are known.
func (t *Remains) shorten(left leftover) leftover {
	if t.bytes+left.bytes() > maxRecord {
		return left.withoutResources()
	}
	t.bytes += left.bytes()
	return left
}

// leftoversName is the name of the record: that of the Installation, with the beginning of its UID, because others of its name may follow.
func leftoversName(inst *v1alpha1.Installation) string {
	uid, _, _ := strings.Cut(string(inst.UID), "-")
	return inst.Name + "-left-behind-" + uid
}

// RecordLeftovers writes down what the deletion is going to leave behind, in a ConfigMap that outlives the Installation and in one event.
// A record that a former attempt has begun is only added to: what that attempt has removed is to be found nowhere else.
func (d *Deletion) RecordLeftovers(ctx context.Context, found *Remains) error {
	if len(found.leftovers) == 0 {
		return nil
	}
	data, err := encodeLeftovers(found.leftovers)
	if err != nil {
		return err
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: leftoversName(found.inst), Namespace: found.inst.Namespace,
		Labels:      map[string]string{v1alpha1.LeftBehindLabel: found.inst.Name},
		Annotations: map[string]string{v1alpha1.LeftBehindLabel: string(found.inst.UID)},
	}, Data: data}
	err = d.Create(ctx, record)
	if apierrors.IsAlreadyExists(err) {
		return d.addLeftovers(ctx, found.inst, record)
	}
	if apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		d.tellNamespace(found)
		return nil
	}
	if err != nil {
		return err
	}
	d.Recorder.AnnotatedEventf(found.inst, jobs.EventMetadata(found.inst), corev1.EventTypeWarning, reasonDeleted, "%s", found.summary(record.Name))
	return nil
}

// tellNamespace says what stays behind where the namespace of the Installation is being deleted: nothing can be created there, neither the
// record nor an event of the cluster about the Installation. An event about the namespace lies in the namespace default.
func (d *Deletion) tellNamespace(found *Remains) {
	text := found.lastWords()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: found.inst.Namespace}}
	d.Recorder.Event(namespace, corev1.EventTypeWarning, reasonDeleted, text)
	d.Recorder.AnnotatedEventf(found.inst, jobs.EventMetadata(found.inst), corev1.EventTypeWarning, reasonDeleted, "%s", text)
}

const reasonDeleted = "ForceDeleted"

func (d *Deletion) addLeftovers(ctx context.Context, inst *v1alpha1.Installation, record *corev1.ConfigMap) error {
	present := &corev1.ConfigMap{}
	if err := d.Live.Get(ctx, client.ObjectKeyFromObject(record), present); err != nil {
		return err
	}
	if present.Annotations[v1alpha1.LeftBehindLabel] != string(inst.UID) {
		return kit.Again(Operation, "RecordTaken", "ConfigMap %s, which is to hold what is left behind, belongs to somebody else; delete or rename it",
			client.ObjectKeyFromObject(record))
	}
	before := len(present.Data)
	added := maps.Clone(record.Data)
	maps.Copy(added, present.Data)
	if len(added) == before {
		return nil
	}
	present.Data = added
	return d.Update(ctx, present)
}

// maxSummary is the length in bytes of what an event lists; events take 1024.
const maxSummary = 800

// summary says for the event what stays and where the list is.
func (t *Remains) summary(record string) string {
	return fmt.Sprintf("deleted by force without uninstalling %d deploy items, see ConfigMap %s: %s", len(t.leftovers), record,
		t.list(leftover.title))
}

// lastWords is summary where no ConfigMap can hold the list.
func (t *Remains) lastWords() string {
	return fmt.Sprintf("deleted by force without uninstalling %d deploy items, and the namespace takes no record of them any more: %s",
		len(t.leftovers), t.list(leftover.titleAndResources))
}

// list describes the leftovers as far as an event has room.
func (t *Remains) list(describe func(leftover) string) string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(t.leftovers)) {
		items = append(items, describe(t.leftovers[name]))
	}
	return beginning.Of(strings.Join(items, ", "), maxSummary)
}

func (l leftover) title() string {
	if l.Target == "" {
		return fmt.Sprintf("%s/%s (%s)", l.Installation, l.Item, l.Type)
	}
	return fmt.Sprintf("%s/%s (%s on %s)", l.Installation, l.Item, l.Type, l.Target)
}

// titleAndResources names a few of the resources.
func (l leftover) titleAndResources() string {
	const few = 5
	var names []string
	if l.Release != "" {
		names = append(names, "release "+l.Release)
	}
	for _, resource := range l.Resources {
		names = append(names, strings.TrimSpace(resource.Kind+" "+strings.TrimPrefix(resource.Namespace+"/"+resource.Name, "/")))
	}
	if more := len(names) - few; more > 0 {
		names = append(names[:few], fmt.Sprintf("%d more", more))
	}
	if len(names) == 0 {
		return l.title()
	}
	return l.title() + " with " + strings.Join(names, ", ")
}
