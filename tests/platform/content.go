// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const (
	fieldOwner   = "platform"
	crdTimeout   = time.Minute
	yamlReadSize = 4096
)

// installContent installs the CRDs and then the objects that the options name.
func (c *Cluster) installContent(ctx context.Context) error {
	dirs := c.options.CRDDirs
	if c.options.LandscaperCRDs {
		root, err := repositoryRoot()
		if err != nil {
			return err
		}
		dirs = append([]string{filepath.Join(root, "config", "crd", "bases")}, dirs...)
	}
	if err := c.InstallCRDs(ctx, dirs...); err != nil {
		return err
	}
	return c.Apply(ctx, c.options.Objects...)
}

// InstallCRDs installs the CRD manifests of folders or files and returns when the API server serves the new kinds.
func (c *Cluster) InstallCRDs(_ context.Context, paths ...string) error {
	if len(paths) == 0 {
		return nil
	}
	_, err := envtest.InstallCRDs(c.RestConfig, envtest.CRDInstallOptions{
		Paths:              paths,
		ErrorIfPathMissing: true,
		MaxTime:            crdTimeout,
		PollInterval:       readyInterval,
	})
	if err != nil {
		return fmt.Errorf("cannot install the CRDs of %s: %w", strings.Join(paths, ", "), err)
	}
	return nil
}

// Apply applies objects server-side, in order. Typed objects of built-in kinds need no apiVersion and kind.
func (c *Cluster) Apply(ctx context.Context, objects ...client.Object) error {
	for _, object := range objects {
		applied, err := c.toUnstructured(object)
		if err != nil {
			return err
		}
		configuration := client.ApplyConfigurationFromUnstructured(applied)
		if err := c.client.Apply(ctx, configuration, client.FieldOwner(fieldOwner), client.ForceOwnership); err != nil {
			return fmt.Errorf("cannot apply %s %s: %w", applied.GetKind(), client.ObjectKeyFromObject(applied), err)
		}
	}
	return nil
}

func (c *Cluster) toUnstructured(object client.Object) (*unstructured.Unstructured, error) {
	kind, err := apiutil.GVKForObject(object, c.client.Scheme())
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	converted := &unstructured.Unstructured{Object: content}
	converted.SetGroupVersionKind(kind)
	unstructured.RemoveNestedField(converted.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(converted.Object, "status")
	return converted, nil
}

// ApplyYAML applies the documents of a YAML stream server-side, in order.
func (c *Cluster) ApplyYAML(ctx context.Context, manifests string) error {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), yamlReadSize)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read the manifests: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		if err := c.Apply(ctx, object); err != nil {
			return err
		}
	}
}
