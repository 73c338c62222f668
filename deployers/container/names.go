// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

const (
	// maxReadable is how much of namespace and name the names of objects show, hashLength how many characters of a hash follow: 80 bits, so that
	// nobody finds a name whose objects are those of another item.
	maxReadable = 40
	hashLength  = 20
)

// names are those of the objects of one DeployItem on the host cluster.
type names struct {
	item     types.NamespacedName
	identity string
	// base is the name of Pod, ServiceAccount, Role and RoleBinding, and how the names of Secrets begin.
	base string
}

// namesOf returns the names for a deployer of an identity. Two items never share them.
func namesOf(item types.NamespacedName, identity string) names {
	readable := strings.ReplaceAll(item.Namespace+"-"+item.Name, ".", "-")
	if len(readable) > maxReadable {
		readable = readable[:maxReadable]
	}
	return names{item: item, identity: identity, base: strings.Trim(readable, "-") + "-" + hashOf(identity, item.Namespace, item.Name)}
}

func (n names) config() string { return n.base + "-config" }
func (n names) target() string { return n.base + "-target" }
func (n names) pull() string   { return n.base + "-imgpullsec" }
func (n names) export() string { return n.base + "-export" }

// contents returns how the names of the Secrets with the content begin, content the name of a piece of it.
func (n names) contents() string         { return n.base + "-content-" }
func (n names) content(piece int) string { return n.contents() + strconv.Itoa(piece) }

// state returns how the names of the Secrets with a state begin. States take turns with two sets of names, so that the last one stays while
// the next one is written.
func (n names) state(sequence int64) string {
	return "state-" + n.base + "-" + strconv.FormatInt(sequence%2, 10) + "-"
}

// labels tell the objects of one item from all others.
func (n names) labels() map[string]string {
	return map[string]string{
		sidecar.DeployerID: labelValue(n.identity), sidecar.Name: Name,
		sidecar.ItemNameLabel: labelValue(n.item.Name), sidecar.ItemNamespaceLabel: labelValue(n.item.Namespace),
	}
}

// selectorOf selects the objects of all items of a deployer.
func selectorOf(identity string) client.MatchingLabels {
	return client.MatchingLabels{sidecar.DeployerID: labelValue(identity), sidecar.Name: Name}
}

// meta returns the metadata of an object of the item.
func (n names) meta(namespace, name, kind string, annotations map[string]string) metav1.ObjectMeta {
	labels := n.labels()
	labels[sidecar.Type] = kind
	marks := map[string]string{sidecar.Item: n.item.String()}
	maps.Copy(marks, annotations)
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, Annotations: marks}
}

// owns reports whether an object was made for the item. Labels and annotations alone do not say so: the containers of another item may write
// them, to Secrets that have names of that item.
func (n names) owns(object metav1.Object) bool {
	if !n.has(object.GetName()) {
		return false
	}
	labels := object.GetLabels()
	for key, value := range n.labels() {
		if labels[key] != value {
			return false
		}
	}
	return object.GetAnnotations()[sidecar.Item] == n.item.String()
}

// has reports whether objects of the item may have a name.
func (n names) has(name string) bool {
	if slices.Contains([]string{n.base, n.config(), n.target(), n.pull(), n.export()}, name) {
		return true
	}
	for _, prefix := range []string{n.contents(), n.state(0), n.state(1)} {
		if number, found := strings.CutPrefix(name, prefix); found {
			_, err := strconv.ParseUint(number, 10, 31)
			return err == nil
		}
	}
	return false
}

// itemOf returns the item that an object was made for.
func itemOf(object metav1.Object) (types.NamespacedName, bool) {
	namespace, name, found := strings.Cut(object.GetAnnotations()[sidecar.Item], "/")
	return types.NamespacedName{Namespace: namespace, Name: name}, found && namespace != "" && name != ""
}

// labelValue returns a text as the value of a label; one that cannot be a value becomes its hash.
func labelValue(text string) string {
	if len(validation.IsValidLabelValue(text)) == 0 {
		return text
	}
	return hashOf(text)
}

func hashOf(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return hex.EncodeToString(sum.Sum(nil))[:hashLength]
}

func keyOf(item *v1alpha1.DeployItem) types.NamespacedName { return client.ObjectKeyFromObject(item) }
