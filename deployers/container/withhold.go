// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// withheld returns a Pod as its status may be shown to others: a program that fails may print what it was given, and a registry may answer with the
// login that it got. It reads something only where there are words of either.
func (r *run) withheld(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	if !hasWords(pod) {
		return pod, nil
	}
	toNode, toProgram := map[string]any{}, map[string]any{}
	for _, given := range []struct {
		secret, key string
		in          func([]byte) any
	}{
		{r.names.pull(), corev1.DockerConfigJsonKey, inLogins}, {r.names.config(), sidecar.ConfigurationKey, inImports},
		{r.names.target(), sidecar.TargetKey, inTarget},
	} {
		secret, err := r.secret(ctx, given.secret)
		if err != nil {
			return nil, err
		}
		if secret == nil {
			continue
		}
		toProgram[given.key] = given.in(secret.Data[given.key])
		if given.key == corev1.DockerConfigJsonKey {
			toNode[given.key] = toProgram[given.key]
		}
	}
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

// inImports returns the values of the imports in a configuration.
func inImports(raw []byte) any {
	config, err := containerv1alpha1.DecodeConfiguration(raw)
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

// exports returns what the wait container of a Pod has stored; nil where the user's program exported nothing.
func (r *run) exports(ctx context.Context, pod *corev1.Pod) (map[string]any, error) {
	if r.operation == containerv1alpha1.OperationDelete {
		return nil, nil
	}
	name := r.names.export()
	secret, err := r.secret(ctx, name)
	if err != nil || secret == nil || secret.Annotations[sidecar.UUID] != string(pod.UID) {
		return nil, err
	}
	var values map[string]any
	if json.Unmarshal(secret.Data[sidecar.ExportKey], &values) != nil {
		return nil, protocol.Stall(operationReconcile, "ExportInvalid", "%s holds no JSON object; remove it and deploy again", r.describe("Secret", name))
	}
	if err := r.keepCredentials(ctx, values); err != nil {
		return nil, err
	}
	return values, nil
}

// credentialLength is the length of the shortest text that counts as a credential in exports.
const credentialLength = 12

// keepCredentials fails where exports, which go to the landscaper cluster, have a credential of the host cluster that the program got with its target.
// It keeps programs from a mistake, not from intent: one that rewrites what it got is not seen through.
func (r *run) keepCredentials(ctx context.Context, exports map[string]any) error {
	if r.options.HostSecrets == nil {
		return nil
	}
	secret, err := r.secret(ctx, r.names.target())
	if err != nil || secret == nil || secret.Annotations[sidecar.HostCredentials] != "true" {
		return err
	}
	if !carries(unfolded(exports, maxFolds), inTarget(secret.Data[sidecar.TargetKey])) {
		return nil
	}
	return protocol.Stall(operationReconcile, "CredentialsExported",
		"the exports have a credential of the target, which is one of the host cluster and stays there; export less")
}

// carries reports whether a text of a value has a credential in it.
func carries(value, credentials any) bool {
	texts := textsIn(value, nil)
	for _, credential := range textsIn(credentials, nil) {
		if len(credential) < credentialLength {
			continue
		}
		for _, text := range texts {
			if strings.Contains(text, credential) {
				return true
			}
		}
	}
	return false
}

// textsIn adds the texts of a value.
func textsIn(value any, to []string) []string {
	switch typed := value.(type) {
	case string:
		to = append(to, strings.TrimSpace(typed))
	case []any:
		for _, entry := range typed {
			to = textsIn(entry, to)
		}
	case map[string]any:
		for _, entry := range typed {
			to = textsIn(entry, to)
		}
	}
	return to
}
