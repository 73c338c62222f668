// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/archive"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
)

// fieldManager owns what wait writes to Secrets.
const fieldManager = "landscaper-container-wait"

// Wait waits until the user's program has ended, saves its state, and uploads its exports if it ended well. The client needs the rights of the
// Role that the deployer made for the Pod: to watch it, and to apply Secrets of the names that the environment says. Errors repeat no content.
func Wait(ctx context.Context, client kubernetes.Interface, env Environment) error {
	w := &waiter{env: env, client: client}
	var err error
	for name, into := range map[string]*string{
		layout.PodNamespace: &w.namespace, layout.PodName: &w.pod, layout.PodUID: &w.uid,
		layout.StatePath: &w.state, layout.ExportsPath: &w.exports, layout.ExportSecret: &w.exportSecret, layout.StateSecrets: &w.stateSecrets,
	} {
		if *into, err = env.need(name); err != nil {
			return err
		}
	}
	if err := json.Unmarshal([]byte(env(layout.ObjectLabels)), &w.labels); err != nil {
		return fmt.Errorf("the environment variable %s is not a JSON object of texts; this command is started by the container deployer", layout.ObjectLabels)
	}
	ended, err := w.awaitMain(ctx)
	if err != nil {
		return err
	}
	err = w.saveState(ctx)
	if ended.ExitCode != 0 {
		return err
	}
	return errors.Join(err, w.export(ctx))
}

type waiter struct {
	env            Environment
	client         kubernetes.Interface
	namespace, pod string
	// uid of the Pod. It also marks what this run writes.
	uid                        string
	state, exports             string
	exportSecret, stateSecrets string
	labels                     map[string]string
}

// saveState writes the state as one set of Secrets. A set is complete when all its pieces are there, so that the last good one counts until
// then. A program that never had a state needs none.
func (w *waiter) saveState(ctx context.Context) error {
	sequence, err := w.env.number(layout.StateSequence)
	if err != nil {
		return err
	}
	packed, entries, err := w.pack()
	if err != nil {
		return fmt.Errorf("the state cannot be saved, the last one stays: %w", err)
	}
	if entries == 0 && sequence == 1 {
		return nil
	}
	count := (len(packed) + layout.PieceBytes - 1) / layout.PieceBytes
	for i := range count {
		piece := packed[i*layout.PieceBytes : min((i+1)*layout.PieceBytes, len(packed))]
		secret := w.secret(w.stateSecrets+strconv.Itoa(i), layout.TypeState).
			WithAnnotations(map[string]string{
				layout.Num: strconv.Itoa(i), layout.Count: strconv.Itoa(count), layout.Sequence: strconv.FormatInt(sequence, 10),
				layout.Size: strconv.Itoa(len(piece)),
			}).
			WithData(map[string][]byte{layout.PieceKey: piece})
		if err := w.apply(ctx, secret); err != nil {
			return fmt.Errorf("the state cannot be saved, the last one stays: %w", err)
		}
	}
	return nil
}

// pack returns the archive of the state directory. The directory is opened from the one around it, so that the user's program cannot have
// replaced it by a link to somewhere else.
func (w *waiter) pack() ([]byte, int, error) {
	pieces, err := w.env.number(layout.StateLimit)
	if err != nil {
		return nil, 0, err
	}
	bytes, err := w.env.number(layout.StateBytes)
	if err != nil {
		return nil, 0, err
	}
	packer := archive.NewPacker(limitsOf(pieces*layout.PieceBytes, bytes))
	shared, name, err := openBelow(w.state)
	if err != nil {
		return nil, 0, err
	}
	defer shared.Close()
	info, err := shared.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		// The program has removed the directory, so it has no state any more.
	case err != nil:
		return nil, 0, err
	case !info.IsDir():
		return nil, 0, fmt.Errorf("%s is not a directory; leave it as it was", filepath.Base(w.state))
	default:
		state, err := shared.OpenRoot(name)
		if err != nil {
			return nil, 0, err
		}
		defer state.Close()
		if err := packer.AddDirectory("", state.FS()); err != nil {
			return nil, 0, err
		}
	}
	packed, err := packer.Close()
	return packed, packer.Entries(), err
}

// export uploads what the user's program exports, if it does.
func (w *waiter) export(ctx context.Context) error {
	values, err := readExports(w.exports)
	if err != nil || values == nil {
		return err
	}
	secret := w.secret(w.exportSecret, layout.TypeExport).WithData(map[string][]byte{layout.ExportKey: values})
	if err := w.apply(ctx, secret); err != nil {
		return fmt.Errorf("the exports cannot be stored: %w", err)
	}
	return nil
}

func (w *waiter) secret(name, kind string) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, w.namespace).WithType(corev1.SecretTypeOpaque).
		WithLabels(w.labels).WithLabels(map[string]string{layout.Type: kind}).
		WithAnnotations(map[string]string{
			layout.UUID: w.uid, layout.Item: w.env(layout.ItemNamespace) + "/" + w.env(layout.ItemName),
		})
}

// apply creates or replaces a Secret. Other than create, it can be allowed for single names.
func (w *waiter) apply(ctx context.Context, secret *corev1ac.SecretApplyConfiguration) error {
	return retry(ctx, func() error {
		_, err := w.client.CoreV1().Secrets(w.namespace).Apply(ctx, secret, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
}
