// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package target opens Targets: it turns the content of a Target object into a client of the cluster that it describes.
package target

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cluster is an opened Target of type landscaper.gardener.cloud/kubernetes-cluster. It is shared by all items with the same
// content and safe for concurrent use.
type Cluster struct {
	// Name of the Target object it was opened from.
	Name string
	// Config to reach the API server; without any reference to files, commands or plugins.
	Config *rest.Config
	// Kubeconfig is the sanitised kubeconfig. Never log it.
	Kubeconfig []byte
	// Client reads and writes live, without a cache.
	Client client.Client
	// Dynamic is for watches on kinds known at run time only.
	Dynamic dynamic.Interface
	// Mapper knows the kinds of the cluster; it learns new kinds when asked for them. MapperFor binds it to a context.
	Mapper meta.RESTMapper

	// connection identifies what the cluster is reached with; empty for a cluster that no Clients has opened.
	connection string
	// metadata reads metadata only; nil makes a client of its own for each watch.
	metadata metadata.Interface
	// identity is shared by all copies of the cluster; nil reads it anew each time.
	identity *identity
}
