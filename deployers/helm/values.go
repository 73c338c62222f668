// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/secrecy"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// readValues merges the values of the configuration over those that it refers to.
func (j *job) readValues(ctx context.Context) (resources.Progress, error) {
	values, err := config.DecodeValues(j.config.Values)
	if err != nil {
		return resources.Progress{}, misconfigured(j.item, fmt.Errorf("spec.config.%w", err))
	}
	sources, secret, err := valuesSources(ctx, j.options.Live, j.item.DeployItem.Namespace, j.config.ValuesFrom)
	if tooMuch, ok := errors.AsType[valuesTooLarge](err); ok {
		return resources.Progress{}, misconfigured(j.item, fmt.Errorf("spec.config.%w", tooMuch))
	}
	if err != nil {
		return resources.Progress{}, err
	}
	if j.values, err = engine.MergeValues(sources, values); err != nil {
		return resources.Progress{}, misconfigured(j.item, fmt.Errorf("spec.config.%w", err))
	}
	j.secrets = nil
	for _, source := range secret {
		// A source that is merged among others can be read alone.
		if alone, err := engine.MergeValues([]engine.ValuesSource{source}, nil); err == nil {
			j.secrets = append(j.secrets, secrecy.Texts(alone)...)
		}
		j.secrets = append(j.secrets, secrecy.Texts(string(source.Content))...)
	}
	return resources.Progress{}, nil
}

// valuesTooLarge is an error about objects that have more together than values may, whichever of their keys are named.
type valuesTooLarge struct{ error }

// valuesSources reads what valuesFrom refers to, each object once and none beyond the limit. secret are those of the sources that came from Secrets.
func valuesSources(
	ctx context.Context, live client.Reader, namespace string, refs []helmv1alpha1.ValuesReference,
) (sources, secret []engine.ValuesSource, err error) {
	type object struct{ kind, name string }
	read, size := map[object]map[string][]byte{}, 0
	for i, ref := range refs {
		of, key := object{ref.Kind, ref.Name}, cmp.Or(ref.ValuesKey, helmv1alpha1.DefaultValuesKey)
		data, isRead := read[of]
		if !isRead {
			var more int
			if data, more, err = valuesIn(ctx, live, namespace, ref, keysOf(refs, ref)); err != nil {
				return nil, nil, err
			}
			if err := engine.AffordValues(size + more); err != nil {
				return nil, nil, valuesTooLarge{fmt.Errorf("valuesFrom[%d]: %s %s/%s: %w", i, ref.Kind, namespace, ref.Name, err)}
			}
			read[of], size = data, size+more
		}
		content, found := data[key]
		at := fmt.Sprintf("valuesFrom[%d]: key %s of %s %s/%s", i, key, ref.Kind, namespace, ref.Name)
		switch {
		case !found && ref.Optional:
			continue
		case !found:
			// Nothing tells a deployer, which may not watch Secrets, that the object has come.
			return nil, nil, kit.Again("ReadValues", "ValuesNotFound", "%s does not exist; create it, or make the reference optional", at)
		}
		source := engine.ValuesSource{Name: at, Content: content, Path: ref.TargetPath}
		sources = append(sources, source)
		if ref.Kind == helmv1alpha1.SecretValues {
			secret = append(secret, source)
		}
	}
	return sources, secret, nil
}

// keysOf returns the keys that references name in the object of one of them.
func keysOf(refs []helmv1alpha1.ValuesReference, of helmv1alpha1.ValuesReference) map[string]bool {
	keys := map[string]bool{}
	for _, ref := range refs {
		if ref.Kind == of.Kind && ref.Name == of.Name {
			keys[cmp.Or(ref.ValuesKey, helmv1alpha1.DefaultValuesKey)] = true
		}
	}
	return keys
}

// valuesIn returns the content of some keys of an object of the item's namespace, nothing when there is no such object, and the size of all its keys.
func valuesIn(
	ctx context.Context, live client.Reader, namespace string, ref helmv1alpha1.ValuesReference, keys map[string]bool,
) (data map[string][]byte, size int, err error) {
	if live == nil {
		return nil, 0, kit.Stall("ReadValues", "NotSupported", "valuesFrom: this deployer reads no Secrets and ConfigMaps; use values")
	}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	data = map[string][]byte{}
	if ref.Kind == helmv1alpha1.SecretValues {
		secret := &corev1.Secret{}
		err = live.Get(ctx, key, secret)
		size = keep(data, keys, secret.Data)
	} else {
		configMap := &corev1.ConfigMap{}
		err = live.Get(ctx, key, configMap)
		size = keep(data, keys, configMap.Data) + keep(data, keys, configMap.BinaryData)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, 0, fmt.Errorf("valuesFrom: %s %s: %w", ref.Kind, key, err)
	}
	return data, size, nil
}

// keep adds the content of some keys to data, and returns the size of all.
func keep[T string | []byte](data map[string][]byte, keys map[string]bool, found map[string]T) (size int) {
	for key, content := range found {
		size += len(key) + len(content)
		if keys[key] {
			data[key] = []byte(content)
		}
	}
	return size
}
