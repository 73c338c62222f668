// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// fieldManager owns what wait writes to Secrets.
const fieldManager = "landscaper-container-wait"

// Wait waits until the user's program has ended, saves its state, and uploads its exports if it ended well. The client needs the rights of the
// Role that the deployer made for the Pod: to watch it, and to apply Secrets of the names that the environment says. Errors repeat no content.
func Wait(ctx context.Context, client kubernetes.Interface, env Environment) error {
	w := &waiter{env: env, client: client}
	var err error
	for name, into := range map[string]*string{
		PodNamespace: &w.namespace, PodName: &w.pod, PodUID: &w.uid,
		StatePath: &w.state, ExportsPath: &w.exports, ExportSecret: &w.exportSecret, StateSecrets: &w.stateSecrets,
	} {
		if *into, err = env.need(name); err != nil {
			return err
		}
	}
	if err := json.Unmarshal([]byte(env(ObjectLabels)), &w.labels); err != nil {
		return fmt.Errorf("the environment variable %s is not a JSON object of texts; this command is started by the container deployer", ObjectLabels)
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
	sequence, err := w.env.number(StateSequence)
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
	count := (len(packed) + PieceBytes - 1) / PieceBytes
	for i := range count {
		piece := packed[i*PieceBytes : min((i+1)*PieceBytes, len(packed))]
		secret := w.secret(w.stateSecrets+strconv.Itoa(i), TypeState).
			WithAnnotations(map[string]string{
				Num: strconv.Itoa(i), Count: strconv.Itoa(count), Sequence: strconv.FormatInt(sequence, 10),
				Size: strconv.Itoa(len(piece)),
			}).
			WithData(map[string][]byte{PieceKey: piece})
		if err := w.apply(ctx, secret); err != nil {
			return fmt.Errorf("the state cannot be saved, the last one stays: %w", err)
		}
	}
	return nil
}

// maxEntries is how many files and directories a state may have.
const maxEntries = 100_000

// pack returns the archive of the state directory. The directory is opened from the one around it, so that the user's program cannot have
// replaced it by a link to somewhere else.
func (w *waiter) pack() ([]byte, int, error) {
	pieces, err := w.env.number(StateLimit)
	if err != nil {
		return nil, 0, err
	}
	bytes, err := w.env.number(StateBytes)
	if err != nil {
		return nil, 0, err
	}
	packer := NewPacker(Limits{Packed: pieces * PieceBytes, Bytes: bytes, Entries: maxEntries})
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
	secret := w.secret(w.exportSecret, TypeExport).WithData(map[string][]byte{ExportKey: values})
	if err := w.apply(ctx, secret); err != nil {
		return fmt.Errorf("the exports cannot be stored: %w", err)
	}
	return nil
}

func (w *waiter) secret(name, kind string) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, w.namespace).WithType(corev1.SecretTypeOpaque).
		WithLabels(w.labels).WithLabels(map[string]string{Type: kind}).
		WithAnnotations(map[string]string{
			UUID: w.uid, Item: w.env(ItemNamespace) + "/" + w.env(ItemName),
		})
}

// apply creates or replaces a Secret. Other than create, it can be allowed for single names.
func (w *waiter) apply(ctx context.Context, secret *corev1ac.SecretApplyConfiguration) error {
	return retry(ctx, func() error {
		_, err := w.client.CoreV1().Secrets(w.namespace).Apply(ctx, secret, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
}

// awaitMain returns how the user's program ended. It watches the Pod, and watches anew when that breaks: a watch begins with the Pod as it is.
func (w *waiter) awaitMain(ctx context.Context) (*corev1.ContainerStateTerminated, error) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, w.pod).String()
	for ctx.Err() == nil {
		var watcher watch.Interface
		err := retry(ctx, func() (err error) {
			watcher, err = w.client.CoreV1().Pods(w.namespace).Watch(ctx, metav1.ListOptions{FieldSelector: selector})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("watch the own Pod: %w", err)
		}
		if ended, err := w.endIn(watcher); err != nil || ended != nil {
			return ended, err
		}
	}
	return nil, ctx.Err()
}

// endIn returns nothing when the watch ends before the program does.
func (w *waiter) endIn(watcher watch.Interface) (*corev1.ContainerStateTerminated, error) {
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		pod, isPod := event.Object.(*corev1.Pod)
		switch {
		case event.Type == watch.Error || !isPod:
			return nil, nil
		case event.Type == watch.Deleted || string(pod.UID) != w.uid:
			return nil, errReplaced
		}
		for i := range pod.Status.ContainerStatuses {
			if status := &pod.Status.ContainerStatuses[i]; status.Name == MainContainer && status.State.Terminated != nil {
				return status.State.Terminated, nil
			}
		}
	}
	return nil, nil
}

var errReplaced = errors.New("the own Pod is gone; nothing is stored")

// retry repeats a request that the API server could not answer now.
func retry(ctx context.Context, request func() error) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 12, Cap: 30 * time.Second}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		last = request()
		switch status := apierrors.APIStatus(nil); {
		case last == nil:
			return true, nil
		case apierrors.IsTooManyRequests(last), apierrors.IsInternalError(last), apierrors.IsServerTimeout(last), apierrors.IsTimeout(last),
			apierrors.IsServiceUnavailable(last), apierrors.IsConflict(last), !errors.As(last, &status):
			return false, nil
		}
		return false, last
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// maxExports is how many bytes of exports fit into a Secret.
const maxExports = 1<<20 - 4<<10

// readExports returns the exports in a file as JSON, nil where there is no file. The file may be anything that the user's program made: its
// directory cannot be left by links, and pipes do not block.
func readExports(path string) ([]byte, error) {
	shared, err := os.OpenRoot(filepath.Dir(filepath.Dir(path)))
	if err != nil {
		return nil, err
	}
	defer shared.Close()
	name := filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path))
	file, err := shared.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be read: %w; write a file to the path in EXPORTS_PATH", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("the exports are no file; write a file to the path in EXPORTS_PATH")
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxExports+1))
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be read: %w", err)
	}
	return parseExports(raw)
}

// parseExports returns a map written as JSON or YAML as JSON; nil for an empty document. Errors do not quote it.
func parseExports(raw []byte) ([]byte, error) {
	if len(raw) > maxExports {
		return nil, fmt.Errorf("the exports have more than %d bytes; export less", maxExports)
	}
	var values map[string]any
	asJSON, err := foreign.ToJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("the exports cannot be used: the file %s; write a map of keys and values as JSON or YAML", foreign.Problem(err))
	}
	if json.Unmarshal(asJSON, &values) != nil {
		return nil, errors.New("the exports are not a map; write a map of keys and values as JSON or YAML")
	}
	if values == nil {
		return nil, nil
	}
	if len(asJSON) > maxExports {
		return nil, fmt.Errorf("the exports have more than %d bytes as JSON; export less", maxExports)
	}
	return asJSON, nil
}
