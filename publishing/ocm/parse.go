// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/fluxcd/pkg/envsubst"
	yamlv3 "go.yaml.in/yaml/v3"
	strictjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// MaxText is how many bytes a constructor may have.
const MaxText = 8 << 20

// maxComponents is how many components one file may have.
const maxComponents = 10_000

// Constructor says how to make component versions.
type Constructor struct {
	// Components in the order of the file.
	Components []Component
	// Warnings are about what the OCM tools refuse and what is taken here all the same.
	Warnings []string
}

// Component says how to make one component version.
type Component struct {
	// Name and Version of the component.
	Name    string `json:"name"`
	Version string `json:"version"`
	// Provider of the component: its name, or an object with name and labels.
	Provider Provider `json:"provider,omitempty"`
	// Labels of the component.
	Labels []Label `json:"labels,omitempty"`
	// CreationTime in RFC 3339; left out when empty.
	CreationTime string `json:"creationTime,omitempty"`
	// Resources of the component.
	Resources []Resource `json:"resources,omitempty"`
	// Sources of the component.
	Sources []Resource `json:"sources,omitempty"`
	// ComponentReferences, also written references, to other component versions.
	ComponentReferences []Reference `json:"componentReferences,omitempty"`
	References          []Reference `json:"references,omitempty"`
	// Meta chooses the schema of the descriptor.
	Meta Meta `json:"meta,omitzero"`
}

// Meta is about the descriptor to make.
type Meta struct {
	// ConfiguredSchemaVersion is v2, which is the default, or v3alpha1.
	ConfiguredSchemaVersion string `json:"configuredSchemaVersion,omitempty"`
	// SchemaVersion is written in descriptors only and has no effect.
	SchemaVersion string `json:"schemaVersion,omitempty"`
}

// schemas that Meta may name.
var schemas = map[string]string{
	"": component.SchemaV2, "v2": component.SchemaV2, "ocm.software/v2": component.SchemaV2,
	"v3alpha1": component.SchemaV3, component.SchemaV3: component.SchemaV3,
}

func (m Meta) schema() string { return schemas[m.ConfiguredSchemaVersion] }

// Provider of a component.
type Provider struct {
	// Name of the provider.
	Name string
	// Labels of the provider.
	Labels []Label

	// written says that it was a text.
	written bool
}

// UnmarshalJSON takes a text or an object.
func (p *Provider) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &p.Name) == nil {
		p.written = true
		return nil
	}
	var object struct {
		Name   string  `json:"name"`
		Labels []Label `json:"labels"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return errors.New("provider must be a name or an object with name and labels")
	}
	p.Name, p.Labels = object.Name, object.Labels
	return nil
}

// Label of a component or of its parts.
type Label struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Version string          `json:"version,omitempty"`
	Signing bool            `json:"signing,omitempty"`
	Merge   json.RawMessage `json:"merge,omitempty"`
}

// Element is what resources, sources and references have in common.
type Element struct {
	Name          string            `json:"name"`
	Version       string            `json:"version,omitempty"`
	ExtraIdentity map[string]string `json:"extraIdentity,omitempty"`
	Labels        []Label           `json:"labels,omitempty"`
}

// Resource says how to make a resource or source: from an Input, or by an Access to what is published already.
type Resource struct {
	Element  `json:",inline"`
	Type     string `json:"type"`
	Relation string `json:"relation,omitempty"`
	// SourceRefs is also written srcRefs.
	SourceRefs []SourceRef      `json:"sourceRefs,omitempty"`
	SrcRefs    []SourceRef      `json:"srcRefs,omitempty"`
	Input      *Input           `json:"input,omitempty"`
	Access     *component.Typed `json:"access,omitempty"`
	Options    ElementOptions   `json:"options,omitzero"`
	// CopyPolicy of newer constructors has no effect.
	CopyPolicy string `json:"copyPolicy,omitempty"`
}

// ElementOptions of a resource.
type ElementOptions struct {
	// SkipDigestGeneration leaves out the digest of content elsewhere.
	SkipDigestGeneration bool `json:"skipDigestGeneration,omitempty"`
}

// SourceRef selects sources.
type SourceRef struct {
	IdentitySelector map[string]string `json:"identitySelector,omitempty"`
	Labels           []Label           `json:"labels,omitempty"`
}

// Reference names another component version.
type Reference struct {
	Element       `json:",inline"`
	ComponentName string `json:"componentName"`
}

// Input says where the content of a resource comes from.
type Input struct {
	Type string `json:"type"`
	// Path of a file or directory relative to the constructor, or reference of an image.
	Path      string `json:"path,omitempty"`
	MediaType string `json:"mediaType,omitempty"`
	Compress  *bool  `json:"compress,omitempty"`
	// PreserveDir, FollowSymlinks, IncludeFiles and ExcludeFiles belong to type dir.
	PreserveDir    bool     `json:"preserveDir,omitempty"`
	FollowSymlinks bool     `json:"followSymlinks,omitempty"`
	IncludeFiles   []string `json:"includeFiles,omitempty"`
	ExcludeFiles   []string `json:"excludeFiles,omitempty"`
	// Text, JSON, FormattedJSON, YAML and Data are content in place.
	Text          *string         `json:"text,omitempty"`
	JSON          json.RawMessage `json:"json,omitempty"`
	FormattedJSON json.RawMessage `json:"formattedJson,omitempty"`
	YAML          json.RawMessage `json:"yaml,omitempty"`
	Data          Binary          `json:"data,omitempty"`
	// Values and Libraries belong to type spiff.
	Values    map[string]any `json:"values,omitempty"`
	Libraries []string       `json:"libraries,omitempty"`
	// Repository is the URL of a Git repository, or the name of an artifact in the registry of the component: below the name of the component, or with a leading slash
	// as it is. It may have a tag.
	Repository string `json:"repository,omitempty"`
	// Platforms choose from an image for several, as os/architecture.
	Platforms []string `json:"platforms,omitempty"`
	// Version and HelmRepository belong to type helm.
	Version        string `json:"version,omitempty"`
	HelmRepository string `json:"helmRepository,omitempty"`
	// URL, Verb, Header and Body are the request of type wget.
	URL    string              `json:"url,omitempty"`
	Verb   string              `json:"verb,omitempty"`
	Header map[string][]string `json:"header,omitempty"`
	Body   Binary              `json:"body,omitempty"`
	// Ref and Commit belong to type git.
	Ref    string `json:"ref,omitempty"`
	Commit string `json:"commit,omitempty"`
	// Variants belong to type dockermulti.
	Variants []string `json:"variants,omitempty"`
}

// Binary is written in base64, or as a text behind an exclamation mark.
type Binary []byte

// UnmarshalJSON reads a text.
func (b *Binary) UnmarshalJSON(raw []byte) error {
	var written string
	if err := json.Unmarshal(raw, &written); err != nil {
		return errors.New("binary content must be a text, in base64 or behind an exclamation mark")
	}
	if plain, found := strings.CutPrefix(written, "!"); found {
		*b = Binary(plain)
		return nil
	}
	content, err := base64.StdEncoding.DecodeString(written)
	if err != nil {
		return fmt.Errorf("binary content is not in base64: %w; write plain text behind an exclamation mark", err)
	}
	*b = content
	return nil
}

// ParseConstructor reads a constructor: documents with a list of components, or with one component each. Errors name line, field and cure.
func ParseConstructor(text []byte) (*Constructor, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the constructor is larger than %d bytes; put content into files", MaxText)
	}
	if err := foreign.Afford(text); err != nil {
		return nil, fmt.Errorf("the constructor %w", err)
	}
	c := &Constructor{}
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	for {
		var node yamlv3.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("the constructor is not YAML: %w", err)
		}
		if err := c.document(&node); err != nil {
			return nil, err
		}
	}
	if len(c.Components) == 0 {
		return nil, errors.New("the constructor has no components; write a list under components, each with name, version and provider")
	}
	return c, c.validate()
}

func (c *Constructor) document(node *yamlv3.Node) error {
	if len(node.Content) == 0 || node.Content[0].Tag == "!!null" {
		return nil
	}
	plain, err := yamlv3.Marshal(node)
	if err != nil {
		return fmt.Errorf("the constructor cannot be read: %w", err)
	}
	document, err := foreign.CoreToJSON(plain)
	if err != nil {
		return fmt.Errorf("the constructor %w", err)
	}
	var several struct {
		Components []Component `json:"components"`
	}
	var into any = &several
	if !hasKey(node.Content[0], "components") {
		several.Components = make([]Component, 1)
		into = &several.Components[0]
	}
	unknown, err := strictjson.UnmarshalStrict(document, into, strictjson.DisallowUnknownFields)
	if err != nil {
		return fmt.Errorf("the constructor, from line %d on: %w", node.Content[0].Line, explainDecode(err))
	}
	if err := unknownFields(node.Content[0], unknown); err != nil {
		return err
	}
	if c.Components = append(c.Components, several.Components...); len(c.Components) > maxComponents {
		return fmt.Errorf("the constructor has more than %d components; split it", maxComponents)
	}
	return nil
}

// explainDecode says what a wrong type is in words of the constructor.
func explainDecode(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	switch kind := wrong.Type.Kind(); kind {
	case reflect.String:
		return fmt.Errorf("field %s is a %s and must be a text; put it in quotes", wrong.Field, wrong.Value)
	case reflect.Slice:
		return fmt.Errorf("field %s is a %s and must be a list; begin its items with a dash", wrong.Field, wrong.Value)
	default:
		return fmt.Errorf("field %s is a %s and must be a %s; correct it", wrong.Field, wrong.Value, kind)
	}
}

func hasKey(node *yamlv3.Node, key string) bool {
	value, _ := model.Child(node, key)
	return value != nil
}

var (
	unknownField = regexp.MustCompile(`^unknown field "(.*)"$`)
	fieldStep    = regexp.MustCompile(`[^.\[\]]+`)
)

// maxUnknown is how many unknown fields an error lists.
const maxUnknown = 10

// unknownFields names fields that have no meaning here, with their lines: what is left out of a component version without a word is found
// when it is missing.
func unknownFields(root *yamlv3.Node, problems []error) error {
	var list []string
	for _, problem := range problems {
		found := unknownField.FindStringSubmatch(problem.Error())
		if found == nil || len(list) == maxUnknown {
			continue
		}
		line, node := root.Line, root
		for _, step := range fieldStep.FindAllString(found[1], -1) {
			if node, _ = model.Child(node, step); node == nil {
				break
			}
			line = node.Line
		}
		list = append(list, fmt.Sprintf("line %d: field %s is unknown", line, found[1]))
	}
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("%s; correct or remove it (digests are computed from the content)", strings.Join(list, "; "))
}

// validate checks what is needed to build; the descriptor is validated once more when it is complete.
func (c *Constructor) validate() error {
	seen := map[component.Key]bool{}
	for i := range c.Components {
		at := &c.Components[i]
		if err := at.validate(fmt.Sprintf("components[%d]", i)); err != nil {
			return err
		}
		if at.Provider.written {
			c.Warnings = append(c.Warnings, fmt.Sprintf("components[%d].provider of component %s is a text, which the OCM tools refuse; write provider: {name: %s}",
				i, at.Name, at.Provider.Name))
		}
		key := component.Key{Name: at.Name, Version: at.Version}
		if seen[key] {
			return fmt.Errorf("components[%d]: there is another component %s:%s; keep one", i, at.Name, at.Version)
		}
		seen[key] = true
	}
	return nil
}

func (c *Component) validate(at string) error {
	switch {
	case c.Name == "":
		return fmt.Errorf("%s.name is missing; write it like example.com/shop", at)
	case !strings.Contains(c.Name, "/"):
		return fmt.Errorf("%s.name %q has no domain; write it like example.com/shop", at, c.Name)
	case c.Version == "":
		return fmt.Errorf("%s.version of component %s is missing; add one like 1.0.0", at, c.Name)
	case c.Provider.Name == "":
		return fmt.Errorf("%s.provider of component %s is missing; add provider: {name: <your organisation>}", at, c.Name)
	case c.Meta.schema() == "":
		return fmt.Errorf("%s.meta.configuredSchemaVersion of component %s is %q; use v2 or v3alpha1", at, c.Name, c.Meta.ConfiguredSchemaVersion)
	}
	for i := range c.Resources {
		if err := c.Resources[i].validate(); err != nil {
			return fmt.Errorf("component %s: resources[%d]%w", c.Name, i, err)
		}
	}
	for i := range c.Sources {
		if err := c.Sources[i].validate(); err != nil {
			return fmt.Errorf("component %s: sources[%d]%w", c.Name, i, err)
		}
	}
	for i, r := range slices.Concat(c.ComponentReferences, c.References) {
		if r.Name == "" || r.ComponentName == "" || r.Version == "" {
			return fmt.Errorf("component %s: componentReferences[%d] needs name, componentName and version", c.Name, i)
		}
	}
	return nil
}

func (r *Resource) validate() error {
	switch {
	case r.Name == "":
		return errors.New(".name is missing; give it one")
	case r.Type == "":
		return fmt.Errorf(".type of %s is missing; add one such as helmChart or landscaper.gardener.cloud/blueprint", r.Name)
	case r.Input == nil && r.Access == nil:
		return fmt.Errorf(" %s has neither input nor access; add one of them", r.Name)
	case r.Input != nil && r.Access != nil:
		return fmt.Errorf(" %s has both input and access; keep one of them", r.Name)
	case r.Relation != "" && r.Relation != component.RelationLocal && r.Relation != component.RelationExternal:
		return fmt.Errorf(".relation of %s is %q; use local or external", r.Name, r.Relation)
	case r.Relation == component.RelationExternal && r.Input != nil && r.Version == "":
		return fmt.Errorf(".version of %s is missing; what is external has a version of its own", r.Name)
	}
	return nil
}

// Templaters that a constructor may go through.
const (
	// Subst replaces ${NAME}.
	Subst = "subst"
	// Go is Go's text/template with the values as the dot.
	Go = "go"
	// Spiff is Spiff++ with the values under values.
	Spiff = "spiff"
	// None leaves the text as it is.
	None = "none"
)

// Values reads the settings file, which may be empty, and then KEY=VALUE arguments, which win.
func Values(settings []byte, arguments []string) (map[string]any, error) {
	values := map[string]any{}
	if err := foreign.CoreUnmarshal(settings, &values); err != nil {
		return nil, fmt.Errorf("the settings are not a YAML object: %w", err)
	}
	if values == nil {
		values = map[string]any{}
	}
	for _, argument := range arguments {
		key, value, found := strings.Cut(argument, "=")
		if !found || key == "" {
			return nil, fmt.Errorf("argument %q is not of the form KEY=VALUE", argument)
		}
		values[key] = value
	}
	return values, nil
}

// renderer runs templates in child processes.
var renderer = sync.OnceValue(func() *rendering.Renderer { return rendering.New(confined.Limits{}) })

// Substitute lets a constructor go through a templater. A value that is missing is an error, which names it.
func Substitute(ctx context.Context, text []byte, templater string, values map[string]any) ([]byte, error) {
	switch templater {
	case None:
		return text, nil
	case Subst, "":
		return substitute(text, values)
	case Go:
		out, err := renderer().Execute(ctx, templating.KindGoTemplate, templating.Input{Name: "constructor", Source: string(text), Values: values, RejectNoValue: true})
		return out.Document, err
	case Spiff:
		out, err := renderer().Execute(ctx, templating.KindSpiff, templating.Input{Name: "constructor", Source: string(text), Values: map[string]any{"values": values}})
		return out.Document, err
	}
	return nil, fmt.Errorf("templater %q is unknown; use %s, %s, %s or %s", templater, Subst, Go, Spiff, None)
}

func substitute(text []byte, values map[string]any) ([]byte, error) {
	missing := map[string]bool{}
	out, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		value, found := values[name]
		if !found {
			missing[name] = true
			return "", false
		}
		return fmt.Sprint(value), true
	})
	if err != nil && len(missing) > 0 {
		return nil, fmt.Errorf("the constructor uses ${%s}, which has no value; add %[1]s=VALUE to the arguments, or --templater none", slices.Sorted(maps.Keys(missing))[0])
	}
	if err != nil {
		return nil, fmt.Errorf("the constructor has a malformed ${…}: %w; write $${ for a literal one, or add --templater none", err)
	}
	return []byte(out), nil
}
