// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

// withheld returns a Pod as its status may be shown to others: a program that fails may print what it was given, and a registry may answer with the
// login that it got. It reads something only where there are words of either.
func (r *run) withheld(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if !hasWords(pod) {
		return pod, nil
	}
	logins, err := r.given(ctx, r.names.pull(), corev1.DockerConfigJsonKey, inLogins)
	if err != nil {
		return nil, err
	}
	imports, err := r.given(ctx, r.names.config(), sidecar.ConfigurationKey, inImports)
	if err != nil {
		return nil, err
	}
	content, err := r.given(ctx, r.names.target(), sidecar.TargetKey, inTarget)
	if err != nil {
		return nil, err
	}
	toNode, toProgram := map[string]any{"logins": logins}, map[string]any{"logins": logins, "imports": imports, "target": content}
	shown := pod.DeepCopy()
	shown.Status.Message = templating.Masked(shown.Status.Message, toNode)
	for _, statuses := range [][]corev1.ContainerStatus{shown.Status.InitContainerStatuses, shown.Status.ContainerStatuses} {
		for i := range statuses {
			if waits := statuses[i].State.Waiting; waits != nil {
				waits.Message = templating.Masked(waits.Message, toNode)
			}
			if ended := statuses[i].State.Terminated; ended != nil {
				ended.Message = templating.Masked(wholeLines(ended.Message), toProgram)
			}
		}
	}
	return shown, nil
}

const (
	// cutLength is from which length on the beginning of a message may be missing: a kubelet gives the last 2048 bytes of a log, and the last 4096
	// of a message file. The rest is for what a node changes in them.
	cutLength = 2000
	// lineTooLong is what is shown of a log whose last line may begin in the middle of a secret.
	lineTooLong = "(the last line of the log is too long to be shown)"
)

// wholeLines returns the lines of a message that certainly are whole. One that begins in the middle of a secret would show the rest of it, because
// only whole secrets are found.
func wholeLines(message string) string {
	if len(message) < cutLength {
		return message
	}
	if _, whole, _ := strings.Cut(message, "\n"); strings.TrimSpace(whole) != "" {
		return whole
	}
	return lineTooLong
}

// hasWords reports whether a Pod shows what nodes, registries or programs say.
func hasWords(pod *corev1.Pod) bool {
	return pod.Status.Message != "" || slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses),
		func(s corev1.ContainerStatus) bool {
			return s.State.Waiting != nil && s.State.Waiting.Message != "" || s.State.Terminated != nil && s.State.Terminated.Message != ""
		})
}

// given returns what the Pod got in a Secret, nil where there is none.
func (r *run) given(ctx context.Context, name, key string, in func([]byte) any) (any, error) {
	secret, err := r.secret(ctx, name)
	if err != nil || secret == nil {
		return nil, err
	}
	return in(secret.Data[key]), nil
}

// secret returns a Secret of the item on the host cluster; nil where there is none.
func (r *run) secret(ctx context.Context, name string) (*corev1.Secret, error) {
	secret, at := &corev1.Secret{}, r.podKey()
	at.Name = name
	err := r.deployer.options.Host.Client.Get(ctx, at, secret)
	if apierrors.IsNotFound(err) || err == nil && !r.names.owns(secret) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", describeHost(at.Namespace, "Secret", name), err)
	}
	return secret, nil
}

// inImports returns the values of the imports in a configuration.
func inImports(raw []byte) any {
	config, err := api.DecodeConfiguration(raw)
	if err != nil || config.ImportValues == nil {
		return nil
	}
	var values any
	_ = json.Unmarshal(config.ImportValues.RawMessage, &values) // it was read before
	return unfolded(values, maxFolds)
}

// inTarget returns what the content of a target holds.
func inTarget(raw []byte) any {
	var document resolvedTarget
	_ = json.Unmarshal(raw, &document) // this deployer wrote it
	return unfolded(document.Content, maxFolds)
}

// inLogins returns the confidential parts of a Docker configuration.
func inLogins(raw []byte) any {
	var config struct {
		Auths map[string]map[string]any `json:"auths"`
	}
	_ = json.Unmarshal(raw, &config) // what is no login is no secret of one
	var found []any
	for _, login := range config.Auths {
		for field, value := range login {
			if field == "username" || field == "email" {
				continue
			}
			found = append(found, value)
			text, _ := value.(string)
			if both, isText := decoded(text); isText && field == "auth" {
				_, password, _ := strings.Cut(both, ":")
				found = append(found, both, password)
			}
		}
	}
	return found
}

// maxFolds is how many documents are looked for in each other: JSON with a kubeconfig with keys in base64 are three.
const maxFolds = 4

// unfolded returns a value with what its texts hold as documents or in base64. Of kubeconfigs it returns the credentials alone.
func unfolded(value any, folds int) any {
	var found []any
	switch typed := value.(type) {
	case string:
		return textUnfolded(typed, folds)
	case []any:
		for _, entry := range typed {
			found = append(found, unfolded(entry, folds))
		}
		return found
	case map[string]any:
		users, isKubeconfig := typed["users"].([]any)
		if !isKubeconfig || typed["clusters"] == nil {
			for _, entry := range typed {
				found = append(found, unfolded(entry, folds))
			}
			return found
		}
		for _, user := range users {
			if named, isMap := user.(map[string]any); isMap {
				found = append(found, unfolded(named["user"], folds))
			}
		}
		return found
	}
	return value
}

func textUnfolded(text string, folds int) any {
	if folds == 0 {
		return text
	}
	var inner any
	// Many texts of a few bytes could each stand for as much as one document may: none may stand for much more than it has bytes.
	if foreign.Limit(8*len(text)).Unmarshal([]byte(text), &inner) == nil {
		switch inner.(type) {
		case []any, map[string]any:
			if strings.Contains(strings.TrimSpace(text), "\n") {
				return unfolded(inner, folds-1)
			}
			return []any{text, unfolded(inner, folds-1)} // a password may look like a document of one line
		}
	}
	if plain, isText := decoded(text); isText {
		return []any{text, unfolded(plain, folds-1)}
	}
	return text
}

// decoded returns the text that another one holds in base64.
func decoded(text string) (string, bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	return string(plain), err == nil && len(plain) > 0 && utf8.Valid(plain)
}
