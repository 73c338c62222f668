// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
)

// withheld returns a Pod as its status may be shown to others: a program that fails may print what it was given, and a registry may answer with the
// login that it got. It reads something only where there are words of either.
func (r *run) withheld(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if !hasWords(pod) {
		return pod, nil
	}
	logins, _, err := r.given(ctx, r.names.pull(), corev1.DockerConfigJsonKey, inLogins)
	if err != nil {
		return nil, err
	}
	imports, allImports, err := r.given(ctx, r.names.config(), layout.ConfigurationKey, inImports)
	if err != nil {
		return nil, err
	}
	content, allContent, err := r.given(ctx, r.names.target(), layout.TargetKey, inTarget)
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
			switch ended := statuses[i].State.Terminated; {
			case ended == nil || ended.Message == "":
			case allImports && allContent:
				ended.Message = templating.Masked(wholeLines(ended.Message), toProgram)
			default:
				ended.Message = notSearched
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
	// notSearched is shown where the secrets in a log cannot be found.
	notSearched = "(the log is not shown: the imports or the target have more than 100000 texts, or a document with aliases that stand for more than the " +
		"document itself, so that secrets there are not known; give it fewer texts, and write aliases out)"
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

// given returns what the Pod got in a Secret, nil where there is none, and whether that is all.
func (r *run) given(ctx context.Context, name, key string, in func([]byte) (any, bool)) (found any, isAll bool, err error) {
	secret, err := r.secret(ctx, name)
	if err != nil || secret == nil {
		return nil, err == nil, err
	}
	found, isAll = in(secret.Data[key])
	return found, isAll, nil
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

// inImports returns the values of the imports in a configuration, and whether these are all.
func inImports(raw []byte) (any, bool) {
	config, err := api.DecodeConfiguration(raw)
	if err != nil || config.ImportValues == nil {
		return nil, true
	}
	var values any
	_ = json.Unmarshal(config.ImportValues.RawMessage, &values) // it was read before
	return unfolded(values)
}

// inTarget returns what the content of a target holds, and whether that is all.
func inTarget(raw []byte) (any, bool) {
	var document resolvedTarget
	_ = json.Unmarshal(raw, &document) // this deployer wrote it
	return unfolded(document.Content)
}

// inLogins returns the confidential parts of a Docker configuration, always all.
func inLogins(raw []byte) (any, bool) {
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
	return found, true
}

const (
	// maxFolds is how many documents are looked for in each other: JSON with a kubeconfig with keys in base64 are three.
	maxFolds = 4
	// maxUnfolded is how many texts are looked into.
	maxUnfolded = 100_000
)

// unfolding looks for documents in texts.
type unfolding struct {
	// left is how many more texts are looked into.
	left int
	// refused says that a document was too large to be looked into, or that there were too many.
	refused bool
}

// unfolded returns a value with what its texts hold as documents or in base64, and whether every such document was looked into. Of kubeconfigs it
// returns the credentials alone.
func unfolded(value any) (any, bool) {
	u := &unfolding{left: maxUnfolded}
	found := u.value(value, maxFolds)
	return found, !u.refused
}

func (u *unfolding) value(value any, folds int) any {
	switch typed := value.(type) {
	case string:
		return u.text(typed, folds)
	case []any:
		found := make([]any, 0, len(typed))
		for _, entry := range typed {
			found = append(found, u.value(entry, folds))
		}
		return found
	case map[string]any:
		if users, isKubeconfig := typed["users"].([]any); isKubeconfig && typed["clusters"] != nil {
			return u.credentials(users, folds)
		}
		found := make([]any, 0, len(typed))
		for _, entry := range typed {
			found = append(found, u.value(entry, folds))
		}
		return found
	}
	return value
}

func (u *unfolding) text(text string, folds int) any {
	if u.left--; u.left < 0 {
		u.refused = true
		return text
	}
	if folds == 0 {
		return text
	}
	var inner any
	// Many texts of a few bytes could each stand for as much as one document may: none may stand for much more than it has bytes.
	err := foreign.Limit(8*len(text)).Unmarshal([]byte(text), &inner)
	u.refused = u.refused || errors.Is(err, foreign.ErrTooMuch)
	if err == nil {
		switch inner.(type) {
		case []any, map[string]any:
			if strings.Contains(strings.TrimSpace(text), "\n") {
				return u.value(inner, folds-1)
			}
			return []any{text, u.value(inner, folds-1)} // a password may look like a document of one line
		}
	}
	if plain, isText := decoded(text); isText {
		return []any{text, u.value(plain, folds-1)}
	}
	return text
}

// credentials returns what the users of a kubeconfig have beside their names.
func (u *unfolding) credentials(users []any, folds int) any {
	var found []any
	for _, user := range users {
		if named, isMap := user.(map[string]any); isMap {
			found = append(found, u.value(named["user"], folds))
		}
	}
	return found
}

// decoded returns the text that another one holds in base64.
func decoded(text string) (string, bool) {
	plain, err := base64.StdEncoding.DecodeString(text)
	return string(plain), err == nil && len(plain) > 0 && utf8.Valid(plain)
}
