// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// Place is a repository of component versions as people write it.
type Place struct {
	// Spec is the repository specification.
	Spec component.Typed
	// Root is the directory that paths in Spec are relative to; empty for registries.
	Root string
	// registry is set for registries.
	registry *component.OCIRegistry
	// partial means that components need not have all that they refer to.
	partial bool
}

// ParsePlace reads a repository: oci://host/path, host/path, http://host/path for one without TLS, or the directory, .tar or .tgz of a CTF
// or component archive.
func ParsePlace(written string) (*Place, error) {
	if written == "" {
		return nil, errors.New("the repository is missing; add --repository oci://host/path")
	}
	if !strings.Contains(written, "://") {
		if info, err := os.Stat(written); err == nil {
			return directoryPlace(written, info)
		}
		if strings.HasPrefix(written, ".") || strings.HasPrefix(written, "/") {
			return nil, fmt.Errorf("repository %s is not a file or directory; write registries as oci://host/path", written)
		}
	}
	return registryPlace(written)
}

func directoryPlace(written string, info fs.FileInfo) (*Place, error) {
	kind := "CommonTransportFormat"
	if info.IsDir() {
		if _, err := os.Stat(filepath.Join(written, component.DescriptorFile)); err == nil {
			kind = "ComponentArchive"
		}
	}
	absolute, err := filepath.Abs(written)
	if err != nil {
		return nil, err
	}
	spec, err := component.NewTyped(map[string]any{"type": kind, "filePath": filepath.Base(absolute)})
	return &Place{Spec: spec, Root: filepath.Dir(absolute)}, err
}

// registryPlace writes the specification as the OCM tools do: the host apart from the path below it.
func registryPlace(written string) (*Place, error) {
	scheme, rest, found := strings.Cut(written, "://")
	if !found {
		scheme, rest = "oci", written
	}
	rest = strings.Trim(rest, "/")
	if rest == "" || scheme != "oci" && scheme != "https" && scheme != "http" || strings.ContainsAny(rest, "@ ") {
		return nil, fmt.Errorf("repository %q is not understood; write it as oci://host/path, or name the directory of a CTF", written)
	}
	host, path, _ := strings.Cut(rest, "/")
	if scheme == "http" {
		host = "http://" + host
	}
	fields := map[string]any{"type": "OCIRegistry", "baseUrl": host, "componentNameMapping": component.MappingURLPath}
	if path != "" {
		fields["subPath"] = path
	}
	spec, err := component.NewTyped(fields)
	if err != nil {
		return nil, err
	}
	return &Place{Spec: spec, registry: &component.OCIRegistry{BaseURL: host, SubPath: path, Mapping: component.MappingURLPath}}, nil
}

// DescriptorPlace returns a repository of component descriptors as they stand in the documents of files, and the name of the first one. What they
// refer to may be missing.
func DescriptorPlace(texts ...[]byte) (*Place, component.Key, error) {
	var first component.Key
	files := map[string]any{}
	for _, text := range texts {
		documents, err := split(text)
		if err != nil {
			return nil, first, err
		}
		for _, document := range documents {
			d, err := component.Decode(document)
			if err != nil {
				return nil, first, err
			}
			if len(files) == 0 {
				first = d.Key()
			}
			files[fmt.Sprintf("%d.yaml", len(files))] = string(document)
		}
	}
	spec, err := component.NewTyped(map[string]any{"type": "inline", "fileSystem": files})
	return &Place{Spec: spec, partial: true}, first, err
}

// split returns the documents of a text that are not empty; the text itself where all are.
func split(text []byte) ([][]byte, error) {
	var out [][]byte
	for reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) && out == nil {
			return [][]byte{text}, nil
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the component descriptor is not YAML: %w", err)
		}
		if plain, err := foreign.ToJSON(document); err != nil || string(plain) != "null" {
			out = append(out, document)
		}
	}
}

// Reference returns the OCI reference of a component version; it fails for directories.
func (p *Place) Reference(key component.Key) (string, error) {
	if p.registry == nil {
		return "", errors.New("the repository is a directory; name a registry as oci://host/path, or write one with --ctf")
	}
	return p.registry.Reference(key.Name, key.Version), nil
}

// Base is host and path of a registry, with http:// for one without TLS; empty for directories.
func (p *Place) Base() string {
	if p.registry == nil {
		return ""
	}
	return p.registry.Base()
}

// ParseName reads NAME[:VERSION], or REPOSITORY//NAME[:VERSION] as the OCM tools write it. Repository is the one given beside it.
func ParseName(written, repository string) (*Place, component.Key, error) {
	at := written
	scheme := ""
	if before, after, found := strings.Cut(written, "://"); found {
		scheme, at = before+"://", after
	}
	if before, after, found := strings.Cut(at, "//"); found {
		if repository != "" {
			return nil, component.Key{}, fmt.Errorf("%q names a repository, and --repository another one; keep one of them", written)
		}
		repository, at = scheme+before, after
	} else if scheme != "" {
		return nil, component.Key{}, fmt.Errorf("%q does not say where the name of the component begins; write REPOSITORY//NAME:VERSION, or NAME:VERSION with --repository", written)
	}
	name, version, _ := strings.Cut(at, ":")
	if name == "" {
		return nil, component.Key{}, fmt.Errorf("%q has no component name; write NAME:VERSION", written)
	}
	place, err := ParsePlace(repository)
	return place, component.Key{Name: name, Version: version}, err
}
