// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	keys "github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifestv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha1"
	manifestv1alpha2 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mockv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// configuration is what a built-in deployer reads from deploy items.
type configuration struct {
	// versions are the documents by their apiVersion; newest counts where a document has none.
	versions map[string]any
	newest   string
	// check reads a whole document and returns what is wrong with it.
	check func(raw []byte) error
}

// configurations are those of the built-in deployers by the type of the deploy items.
var configurations = map[string]configuration{
	v1alpha1.HelmDeployItemType: {
		versions: map[string]any{helmv1alpha1.APIVersion: &helmv1alpha1.ProviderConfiguration{}}, newest: helmv1alpha1.APIVersion,
		check: checked(helmv1alpha1.DecodeConfiguration, helmv1alpha1.Validate),
	},
	v1alpha1.ManifestDeployItemType: {
		versions: map[string]any{
			manifestv1alpha1.APIVersion: &manifestv1alpha1.ProviderConfiguration{}, manifestv1alpha2.APIVersion: &manifestv1alpha2.ProviderConfiguration{},
		},
		newest: manifestv1alpha2.APIVersion,
		check:  checked(manifestv1alpha2.DecodeConfiguration, manifestv1alpha2.Validate),
	},
	v1alpha1.ContainerDeployItemType: {
		versions: map[string]any{containerv1alpha1.APIVersion: &containerv1alpha1.ProviderConfiguration{}}, newest: containerv1alpha1.APIVersion,
		check: checked(containerv1alpha1.DecodeConfiguration, nil),
	},
	v1alpha1.MockDeployItemType: {
		versions: map[string]any{mockv1alpha1.APIVersion: &mockv1alpha1.ProviderConfiguration{}}, newest: mockv1alpha1.APIVersion,
		check: checked(mockv1alpha1.DecodeConfiguration, nil),
	},
}

func checked[C any](read func([]byte) (*C, error), validate func(*C) error) func([]byte) error {
	return func(raw []byte) error {
		config, err := read(raw)
		if err != nil || validate == nil {
			return err
		}
		return validate(config)
	}
}

// version returns the document of an apiVersion; the error says which ones there are.
func (c configuration) version(apiVersion string) (any, error) {
	if apiVersion == "" {
		apiVersion = c.newest
	}
	if like, known := c.versions[apiVersion]; known {
		return like, nil
	}
	return nil, fmt.Errorf("apiVersion: %q does not exist; use %s", apiVersion, strings.Join(slices.Sorted(maps.Keys(c.versions)), " or "))
}

// Item checks the configuration of a deploy item for a built-in deployer. Its error names the item and the field.
func Item(item *v1alpha1.DeployItemTemplate) error {
	config, known := configurations[item.Type]
	if !known || item.Configuration == nil {
		return nil
	}
	var header struct {
		APIVersion string `json:"apiVersion"`
	}
	err := keys.Decode(item.Configuration.Raw, &header)
	if err != nil {
		return fmt.Errorf("deploy item %q: config: %w", item.Name, err)
	}
	like, err := config.version(header.APIVersion)
	if err == nil {
		err = Unknown(keys.Keys(item.Configuration.Raw, like))
	}
	if err == nil {
		err = config.check(item.Configuration.Raw)
	}
	if err != nil {
		return fmt.Errorf("deploy item %q: config: %w", item.Name, err)
	}
	return nil
}

// Unknown returns an error about keys that are not known, except for those that published blueprints have.
func Unknown(unknown []keys.Key) error {
	unknown = slices.DeleteFunc(slices.Clone(unknown), func(key keys.Key) bool { return key.Published })
	if len(unknown) > 0 {
		return errors.New(keys.List(unknown))
	}
	return nil
}

// keysMade checks the keys of what an execution makes, as far as its text shows them, and all of a text without expressions; root is nil where it shows nothing.
func (c *checker) keysMade(list string, s source, root *yamlv3.Node) {
	like := render.OutputOf(list)
	if like == nil || root == nil {
		return
	}
	before := len(c.report.Findings)
	shown := &outline{places: map[string]place{}, several: map[string]bool{}}
	tree := shown.value(root, "")
	report := func(severity Severity, path, format string, args ...any) {
		c.inSource(severity, s, s.sure(shown.places[path]), format, args...)
	}
	unknown := func(prefix string, found []keys.Key) {
		for _, key := range found {
			if isLiteral(key.Path) {
				report(severityOf(key), prefix+key.Path, "%s%s", prefix, key)
			}
		}
	}
	made, _ := tree.(map[string]any)
	unknown("", render.Misplaced(slices.DeleteFunc(keys.KeysOf(tree, like, true), func(key keys.Key) bool {
		isTemplate := strings.Contains(fmt.Sprint(made[key.Path]), "(( &") // of Spiff, for the template itself
		return render.IsBeside(key) || isTemplate
	})))
	for i, item := range itemsOf(tree) {
		at := fmt.Sprintf("deployItems[%d].config.", i)
		config, isMap := item["config"].(map[string]any)
		kind, _ := item["type"].(string)
		version, _ := config["apiVersion"].(string)
		above := fmt.Sprintf("deployItems[%d].", i)
		if shown.several[above+"type"] || shown.several[above+"config"] || shown.several[at+"apiVersion"] {
			continue // of several branches only an execution tells which belong together
		}
		if meant := render.MeantType(kind); meant != "" && isLiteral(kind) {
			report(Error, above+"type", "%stype: %q is unknown; did you mean %s?", above, kind, meant)
		}
		if known, builtIn := configurations[kind]; builtIn && isMap && isLiteral(version) {
			like, err := known.version(version)
			if err != nil {
				report(Error, at+"apiVersion", "%s%v", at, err)
				continue
			}
			unknown(at, keys.BesideConfig(keys.KeysOf(config, like, false), v1alpha1.DeployItemTemplate{}))
		}
	}
	isFine := len(c.report.Findings) == before // else what follows from a wrong key would be said, too
	if isFine && isLiteral(s.text) && !strings.Contains(s.text, "{{") {
		c.whole(list, s, shown)
	}
}

// whole checks a template without expressions as the job does, because it makes what it says. The configurations are those of the built-in deployers.
func (c *checker) whole(list string, s source, shown *outline) {
	refused := func(err error) {
		_, at := splitLine(err.Error())
		if at.line == 0 {
			at = shown.near("")
		}
		c.inSource(Error, s, at, "%v", err)
	}
	made, err := templating.ToObject(s.text)
	if err != nil {
		refused(err)
	}
	if err != nil || list != "deployExecutions" {
		return
	}
	items, err := render.ItemsOf(made)
	if err != nil {
		refused(err)
		return
	}
	for i, item := range items {
		known, builtIn := configurations[item.Type]
		if !builtIn {
			continue
		}
		at := fmt.Sprintf("deployItems[%d].config.", i)
		for _, problem := range each(known.check(item.Configuration.Raw)) {
			field, _, _ := strings.Cut(problem.Error(), ":")
			c.inSource(Error, s, shown.near(at+field), "%s%v", at, problem)
		}
	}
}

// each returns the errors that one is made of.
func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func itemsOf(tree any) []map[string]any {
	document, _ := tree.(map[string]any)
	list, _ := document["deployItems"].([]any)
	var items []map[string]any
	for _, element := range list {
		item, _ := element.(map[string]any)
		items = append(items, item)
	}
	return items
}

// outline is a YAML document with the places of its values by their paths.
type outline struct {
	places map[string]place
	// several are the paths of keys that appear several times.
	several map[string]bool
}

// near is the place of a value, or of the nearest one around it.
func (o *outline) near(path string) place {
	for {
		at, known := o.places[path]
		if known || path == "" {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// value returns what a node says, without what aliases stand for. Keys may appear several times, as in the branches of a condition: their lists are
// put together, and their maps.
func (o *outline) value(n *yamlv3.Node, path string) any {
	o.places[path] = place{n.Line, n.Column}
	switch n.Kind {
	case yamlv3.SequenceNode:
		list := []any{}
		for i, element := range n.Content {
			list = append(list, o.value(element, fmt.Sprintf("%s[%d]", path, i)))
		}
		return list
	case yamlv3.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			at := strings.TrimPrefix(path+"."+name, ".")
			_, known := object[name]
			o.several[at] = o.several[at] || known
			object[name] = joined(object[name], o.value(n.Content[i+1], at))
			o.places[at] = place{n.Content[i].Line, n.Content[i].Column}
		}
		return object
	case yamlv3.ScalarNode:
		return n.Value
	}
	return nil
}

func joined(before, after any) any {
	switch after := after.(type) {
	case []any:
		if list, ok := before.([]any); ok {
			return append(list, after...)
		}
	case map[string]any:
		if object, ok := before.(map[string]any); ok {
			for name, value := range after {
				object[name] = joined(object[name], value)
			}
			return object
		}
	}
	return after
}
