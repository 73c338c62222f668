// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command reader reads one ConfigMap as a Pod does, with the token of its service account, and prints a value of it. It is the one file
// of its image.
package main

import (
	"context"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func main() {
	value, err := read(context.Background(), os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(value)
}

// read returns the value of a key of a ConfigMap.
func read(ctx context.Context, namespace, name, key string) (string, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return "", err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	object, err := clients.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return object.Data[key], nil
}
