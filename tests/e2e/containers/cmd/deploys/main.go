// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command deploys is a user's program in an image without anything else: it creates the ConfigMap that its content describes, with its
// imports as data, on the cluster of its target, and deletes it when it is asked to.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if err := deploy(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func deploy(ctx context.Context) error {
	clients, err := target()
	if err != nil {
		return err
	}
	config := &corev1.ConfigMap{}
	err = errors.Join(
		read(filepath.Join(os.Getenv("CONTENT_PATH"), "manifests", "config.json"), config),
		read(os.Getenv("IMPORTS_PATH"), &config.Data))
	if err != nil {
		return err
	}
	objects := clients.CoreV1().ConfigMaps(config.Namespace)
	switch operation := os.Getenv("OPERATION"); operation {
	case "RECONCILE":
		_, err = objects.Create(ctx, config, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = objects.Update(ctx, config, metav1.UpdateOptions{})
		}
		return err
	case "DELETE":
		return objects.Delete(ctx, config.Name, metav1.DeleteOptions{})
	default:
		return fmt.Errorf("OPERATION is %q", operation)
	}
}

// target connects to the cluster of the target.
func target() (kubernetes.Interface, error) {
	var resolved struct {
		Content string `json:"content"`
	}
	if err := read(os.Getenv("TARGET_PATH"), &resolved); err != nil {
		return nil, err
	}
	var cluster struct {
		Kubeconfig string `json:"kubeconfig"`
	}
	if err := json.Unmarshal([]byte(resolved.Content), &cluster); err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(cluster.Kubeconfig))
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func read(path string, into any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}
