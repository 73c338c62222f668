// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// LabelEmbedded is the label of a reference that carries the descriptor of the component that is referred to.
const LabelEmbedded = "landscaper.gardener.cloud/component-descriptor"

// Identity returns the name under "name" and the extra identity. The version is no part of it.
func (e *Element) Identity() map[string]string {
	out := maps.Clone(e.ExtraIdentity)
	if out == nil {
		out = map[string]string{}
	}
	out["name"] = e.Name
	return out
}

// Matches reports whether the identity contains all wanted pairs. A wanted version is compared with the version of the element, unless the
// extra identity has one: the version joins the identity where that is needed to be unique.
func (e *Element) Matches(wanted map[string]string) bool {
	for key, value := range wanted {
		found, ok := e.ExtraIdentity[key]
		switch {
		case key == "name":
			found, ok = e.Name, true
		case key == "version" && !ok:
			found, ok = e.Version, true
		}
		if !ok || found != value {
			return false
		}
	}
	return true
}

// identityID is the identity as one text.
func (e *Element) identityID() string {
	id, _ := json.Marshal([]any{e.Name, e.ExtraIdentity})
	return string(id)
}

// uniqueID is the identity and the version as one text.
func (e *Element) uniqueID() string {
	id, _ := json.Marshal([]any{e.Name, e.Version, e.ExtraIdentity})
	return string(id)
}

// FindResource returns the first resource whose identity contains the wanted pairs, for example name. The error wraps ErrNotFound.
func (d *Descriptor) FindResource(wanted map[string]string) (*Resource, error) {
	return find[Resource](d, "resource", d.Resources, wanted)
}

// FindReference returns the first reference whose identity contains the wanted pairs, for example name. The error wraps ErrNotFound.
func (d *Descriptor) FindReference(wanted map[string]string) (*Reference, error) {
	return find(d, "reference", d.References, wanted)
}

func find[T any, P named[T]](d *Descriptor, what string, elements []T, wanted map[string]string) (P, error) {
	for i := range elements {
		if P(&elements[i]).element().Matches(wanted) {
			return &elements[i], nil
		}
	}
	return nil, fmt.Errorf("component %s has no %s with %s; it has: %s: %w",
		d.Key(), what, showIdentity(wanted), namesOf[T, P](elements), ErrNotFound)
}

// showIdentity writes an identity with sorted keys.
func showIdentity(identity map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(identity)) {
		parts = append(parts, fmt.Sprintf("%s %q", key, identity[key]))
	}
	return strings.Join(parts, ", ")
}

// maxNames is how many names a message lists.
const maxNames = 20

func namesOf[T any, P named[T]](elements []T) string {
	var names []string
	for i := range elements {
		if i == maxNames {
			names = append(names, "…")
			break
		}
		names = append(names, P(&elements[i]).element().Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// FindLabel returns the value of a label; false when there is no label of that name.
func FindLabel(labels []Label, name string) (any, bool) {
	for _, label := range labels {
		if label.Name == name {
			return label.Value, true
		}
	}
	return nil, false
}

// Embedded returns the descriptor that the reference carries in its label LabelEmbedded, as an object or as a text; nil when it carries
// none.
func (r *Reference) Embedded() (*Descriptor, error) {
	value, found := FindLabel(r.Labels, LabelEmbedded)
	if !found {
		return nil, nil
	}
	document, isText := value.(string)
	if !isText {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("label %s of reference %q: %w", LabelEmbedded, r.Name, err)
		}
		document = string(raw)
	}
	d, err := Decode([]byte(document))
	if err != nil {
		return nil, fmt.Errorf("label %s of reference %q: %w", LabelEmbedded, r.Name, err)
	}
	if d.Key() != r.Key() {
		return nil, fmt.Errorf("label %s of reference %q holds component %s, but the reference is to %s", LabelEmbedded, r.Name, d.Key(), r.Key())
	}
	return d, nil
}
