// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// What becomes of something.
const (
	Added   = "added"
	Changed = "changed"
	Deleted = "deleted"
	// Kept is an object that stays although nothing describes it any more.
	Kept = "kept"
	// Unknown is an export that is made during the job.
	Unknown = "unknown"
)

// Forecast is what jobs will do.
type Forecast struct {
	// Installations whose jobs start, or that are added, changed or deleted, by namespace and name.
	Installations []InstallationChange `json:"installations"`
	// Objects of the landscape other than Installations that differ.
	Objects []ObjectChange `json:"objects,omitempty"`
	// Notes are about what the files leave open, Withheld the kinds that the reader may not list.
	Notes    []string `json:"notes,omitempty"`
	Withheld []string `json:"withheld,omitempty"`
}

// Differs reports whether anything changes.
func (f *Forecast) Differs() bool { return len(f.Installations)+len(f.Objects) > 0 }

// InstallationChange is what becomes of an Installation.
type InstallationChange struct {
	Namespace string `json:"namespace"`
	// Name with those of the parents: parent/child.
	Name string `json:"name"`
	// What is Added, Changed or Deleted, empty where its spec is the same; Fields of the spec that differ.
	What   string        `json:"what,omitempty"`
	Fields []FieldChange `json:"fields,omitempty"`
	// Why its job starts, empty where none does; Waits says why a change starts none, or what the job waits for, Fails how the job fails.
	Why   string `json:"why,omitempty"`
	Waits string `json:"waits,omitempty"`
	Fails string `json:"fails,omitempty"`
	// Items that differ, those that are deleted first.
	Items   []ItemChange   `json:"items,omitempty"`
	Exports []ExportChange `json:"exports,omitempty"`
	// Unknown says what nobody knows before the job, and why.
	Unknown []string `json:"unknown,omitempty"`
}

// ItemChange is what becomes of a DeployItem.
type ItemChange struct {
	// Name as in the blueprint.
	Name string `json:"name"`
	Type string `json:"type"`
	What string `json:"what"`
	// Fields of the spec that differ; of manifest items without the manifests.
	Fields []FieldChange `json:"fields,omitempty"`
	// Objects on the target that differ, those that are deleted first.
	Objects []ObjectChange `json:"objects,omitempty"`
	// Unknown says why Objects are not known.
	Unknown []string `json:"unknown,omitempty"`
}

// ObjectChange is what becomes of an object.
type ObjectChange struct {
	landscape.ID
	What   string        `json:"what"`
	Fields []FieldChange `json:"fields,omitempty"`
	// Refused is why the API server of the target would not take the change, if it was asked.
	Refused string `json:"refused,omitempty"`
}

// ExportChange is what becomes of a DataObject or Target that an Installation exports, or of all where What is Unknown.
type ExportChange struct {
	landscape.ID
	What   string        `json:"what"`
	Fields []FieldChange `json:"fields,omitempty"`
	// Consumers are the Installations that it flows to, also through others, the near ones first.
	Consumers []string `json:"consumers,omitempty"`
}

// FieldChange is a field with its values, nil where it is not there, and both nil where only the target has another value than the job brings.
type FieldChange struct {
	Path   string `json:"path"`
	Before any    `json:"before,omitempty"`
	After  any    `json:"after,omitempty"`
}

// fieldsOf lists what differs between two values of JSON.
func fieldsOf(path string, before, after any) []FieldChange {
	old, isOld := before.(map[string]any)
	now, isNow := after.(map[string]any)
	if isOld && isNow {
		all := maps.Clone(old)
		maps.Copy(all, now)
		var found []FieldChange
		for _, name := range slices.Sorted(maps.Keys(all)) {
			found = append(found, fieldsOf(strings.TrimPrefix(path+"."+name, "."), old[name], now[name])...)
		}
		return found
	}
	oldList, isOld := before.([]any)
	nowList, isNow := after.([]any)
	if isOld && isNow && len(oldList) == len(nowList) {
		var found []FieldChange
		for i := range oldList {
			found = append(found, fieldsOf(fmt.Sprintf("%s[%d]", path, i), oldList[i], nowList[i])...)
		}
		return found
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return []FieldChange{{path, before, after}}
}

// mask stands in the place of secret values.
const mask = "***"

// masked hides the values of fields of kinds that hold secrets: of Secrets all, of Targets how to reach them.
func masked(kind string, fields []FieldChange) []FieldChange {
	for i := range fields {
		if kind != "Secret" && (kind != "Target" || !strings.HasPrefix(fields[i].Path, "spec.config") && !strings.HasPrefix(fields[i].Path, "config")) {
			continue
		}
		if fields[i].Before != nil {
			fields[i].Before = mask
		}
		if fields[i].After != nil {
			fields[i].After = mask
		}
	}
	return fields
}

// shortestSecret is the length from which on a value of a Secret is hidden wherever it stands: shorter ones are part of ordinary words, and hidden where they
// are all of a value.
const shortestSecret = 4

// shortestCredential is the length from which on a text in a Target is taken for a credential, unless it is an address: the others are names.
const shortestCredential = 20

// hider takes what Secrets hold from all that is shown.
type hider struct {
	within *strings.Replacer
	whole  map[string]bool
}

// hider learns from the Secrets and Targets that were read. What jobs leave in Secrets of their own is not secret for that.
func (s *simulation) hider() (*hider, error) {
	all, err := s.store.all(&corev1.Secret{})
	if err != nil {
		return nil, err
	}
	former, err := s.store.replaced(&corev1.Secret{})
	if err != nil {
		return nil, err
	}
	h := &hider{whole: map[string]bool{}}
	for _, object := range append(all, former...) {
		if owner := metav1.GetControllerOf(object); owner != nil && (owner.Kind == "DeployItem" || owner.Kind == "Installation") && !s.isSensitive(object, owner) {
			continue
		}
		for _, content := range object.(*corev1.Secret).Data {
			var value any
			texts := []string{string(content)}
			if foreign.Unmarshal(content, &value) == nil {
				texts = append(texts, engine.TextsOf(value)...)
			}
			for _, text := range texts {
				for _, form := range fault.Forms(text) {
					h.whole[form] = form != ""
				}
			}
		}
	}
	for _, target := range append(s.before.Objects("Target"), s.after.Objects("Target")...) {
		for _, text := range engine.TextsOf(plain(target.(*v1alpha1.Target).Spec.Configuration)) {
			if len(text) >= shortestCredential && !strings.HasPrefix(text, "https://") {
				h.whole[text] = true
			}
		}
	}
	var pairs []string
	for _, text := range slices.SortedFunc(maps.Keys(h.whole), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		if len(text) >= shortestSecret {
			pairs = append(pairs, text, mask)
		}
	}
	h.within = strings.NewReplacer(pairs...)
	return h, nil
}

// isSensitive reports whether the exports of an item are kept like secrets.
func (s *simulation) isSensitive(secret client.Object, owner *metav1.OwnerReference) bool {
	for _, snapshot := range []*landscape.Snapshot{s.before, s.after} {
		if item := snapshot.Find(owner.Kind, secret.GetNamespace(), owner.Name); item != nil {
			if execution, ok := snapshot.Parent(item).(*v1alpha1.Execution); ok && execution.Spec.SensitiveExports {
				return true
			}
		}
	}
	return false
}

// hide takes secrets from a forecast.
func (h *hider) hide(f *Forecast) {
	h.objects(f.Objects)
	h.texts(f.Notes)
	for i := range f.Installations {
		c := &f.Installations[i]
		c.Why, c.Waits, c.Fails = h.within.Replace(c.Why), h.within.Replace(c.Waits), h.within.Replace(c.Fails)
		h.fields(c.Fields)
		h.texts(c.Unknown)
		for j := range c.Items {
			h.fields(c.Items[j].Fields)
			h.texts(c.Items[j].Unknown)
			h.objects(c.Items[j].Objects)
		}
		for j := range c.Exports {
			h.fields(c.Exports[j].Fields)
		}
	}
}

func (h *hider) objects(objects []ObjectChange) {
	for i := range objects {
		h.fields(objects[i].Fields)
		objects[i].Refused = h.within.Replace(objects[i].Refused)
	}
}

func (h *hider) fields(fields []FieldChange) {
	for i := range fields {
		fields[i].Before, fields[i].After = h.value(fields[i].Before), h.value(fields[i].After)
	}
}

func (h *hider) texts(texts []string) {
	for i := range texts {
		texts[i] = h.within.Replace(texts[i])
	}
}

// value takes secrets from a value of JSON.
func (h *hider) value(value any) any {
	switch value := value.(type) {
	case nil, bool:
		return value
	case string:
		if h.whole[value] {
			return mask
		}
		return h.within.Replace(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = h.value(value[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, inner := range value {
			out[h.within.Replace(name)] = h.value(inner)
		}
		return out
	}
	if text := fmt.Sprint(value); len(text) >= shortestSecret && h.whole[text] {
		return mask
	}
	return value
}
