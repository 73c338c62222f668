// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package pullsecrets reads the Secrets with registry logins that an object names: each once, and no more than a process can hold for each of its
// workers.
package pullsecrets

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const (
	// MaxNames is how many different Secrets are read for one object: several times what anybody has.
	MaxNames = 50
	// MaxBytes is how many bytes their keys and values may have together.
	MaxBytes = 4 << 20
)

var (
	// ErrTooMuch is the class of the failures of objects that name more than MaxNames Secrets, or more than MaxBytes.
	ErrTooMuch = fault.Class(fault.Stalled, "too many or too large pull secrets")
	// ErrLeaveOut is what Reading.Get returns for a Secret that is left out.
	ErrLeaveOut = errors.New("the Secret is left out")
)

// Reading says how Secrets are read.
type Reading struct {
	// Field is the object and its field that name them, for errors.
	Field string
	// Get returns the content of a Secret. An error other than ErrLeaveOut ends the reading.
	Get func(name string) (map[string][]byte, error)
	// OnlyWhatFits leaves out what is too much, in place of an error.
	OnlyWhatFits bool
}

// Into adds the contents of Secrets to those that are already there, which count too.
func (r Reading) Into(found map[string]map[string][]byte, names []string) error {
	wanted, isAll := Different(slices.Concat(slices.Sorted(maps.Keys(found)), names))
	if !isAll && !r.OnlyWhatFits {
		return r.tooMuch(fmt.Sprintf("names more than %d different Secrets", MaxNames), "name fewer")
	}
	size := 0
	for _, data := range found {
		size += sizeOf(data)
	}
	for _, name := range wanted[min(len(found), len(wanted)):] {
		data, err := r.Get(name)
		if errors.Is(err, ErrLeaveOut) {
			continue
		}
		if err != nil {
			return err
		}
		switch {
		case size+sizeOf(data) <= MaxBytes:
			size += sizeOf(data)
			found[name] = data
		case !r.OnlyWhatFits:
			return r.tooMuch(fmt.Sprintf("the Secrets have more than %d MiB together", MaxBytes>>20), "name fewer, or take from them what is no registry login")
		}
	}
	return nil
}

// From returns a Reading.Get for the Secrets of a namespace, and leaves out those that do not exist where that is asked for. unread words all other errors.
func From(
	ctx context.Context, reader client.Reader, namespace string, leaveOut bool, unread func(name string, err error) error,
) func(string) (map[string][]byte, error) {
	return func(name string) (map[string][]byte, error) {
		secret := &corev1.Secret{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret)
		switch {
		case err == nil:
			return secret.Data, nil
		case leaveOut && apierrors.IsNotFound(err):
			return nil, ErrLeaveOut
		}
		return nil, unread(name, err)
	}
}

// Digest is equal for equal contents, whatever the Secrets are called. It stays in the process.
func Digest(secrets map[string]map[string][]byte) [sha256.Size]byte {
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		_, _ = fmt.Fprintf(hash, "%d keys ", len(secrets[name]))
		for _, key := range slices.Sorted(maps.Keys(secrets[name])) {
			_, _ = fmt.Fprintf(hash, "%d %s %d ", len(key), key, len(secrets[name][key])) // so that what moves from one to the next is seen
			_, _ = hash.Write(secrets[name][key])
		}
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

func (r Reading) tooMuch(problem, cure string) error {
	return &fault.Error{Class: ErrTooMuch, Subject: r.Field, Problem: problem, Cure: cure}
}

func sizeOf(data map[string][]byte) int {
	size := 0
	for key, value := range data {
		size += len(key) + len(value)
	}
	return size
}

// Different returns each name once, in the order of their first places, at most MaxNames of them, and whether these are all.
func Different(names []string) (first []string, isAll bool) {
	seen := make(map[string]bool, min(len(names), MaxNames))
	for _, name := range names {
		if seen[name] {
			continue
		}
		if len(first) == MaxNames {
			return first, false
		}
		seen[name] = true
		first = append(first, name)
	}
	return first, true
}

// NamesOf returns the names of references.
func NamesOf(references []v1alpha1.LocalObjectReference) []string {
	names := make([]string, 0, len(references))
	for _, reference := range references {
		names = append(names, reference.Name)
	}
	return names
}
