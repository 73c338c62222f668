// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	keys "github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifestv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha1"
	manifestv1alpha2 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mockv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
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

// madeBy checks the keys and values of what an execution makes, as far as its text shows them.
func (c *checker) madeBy(list string, s source, shown *outline, text string) {
	like := render.OutputOf(list)
	if like == nil || shown == nil {
		return
	}
	report := func(path, format string, args ...any) {
		c.inSource(Error, s, s.sure(shown.near(path)), format, args...)
	}
	unknown := func(prefix string, found []keys.Key) {
		for _, key := range found {
			if isLiteral(key.Path) {
				c.inSource(severityOf(key), s, s.sure(shown.near(prefix+key.Path)), "%s%s", prefix, key)
			}
		}
	}
	unknown("", render.Misplaced(slices.DeleteFunc(keys.KeysOf(shown.tree, like, true), func(key keys.Key) bool {
		isSpiffTemplate := strings.Contains(fmt.Sprint(shown.values[key.Path]), "(( &") // which is not part of what it makes
		return render.IsBeside(key) || isSpiffTemplate
	})))
	if shown.isPlain {
		shown.fit("", like, report)
		if err := foreign.CheckWhole([]byte(text)); err != nil {
			if _, at := splitLine(err.Error()); at.line > 0 && !strings.Contains(shown.lines[at.line-1], "{{") { // keys of templates may differ
				c.inSource(Error, s, at, "the template %v", err)
			}
		}
	}
	for i, item := range itemsOf(shown.tree) {
		above := fmt.Sprintf("deployItems[%d].", i)
		at := above + "config."
		config, isMap := item["config"].(map[string]any)
		kind, _ := item["type"].(string)
		version, _ := config["apiVersion"].(string)
		if shown.several[above+"type"] || shown.several[above+"config"] || shown.several[at+"apiVersion"] {
			continue // of several branches only an execution tells which belong together
		}
		for _, field := range []string{"name", "type", "config"} {
			isAnyCase := slices.ContainsFunc(slices.Collect(maps.Keys(item)), func(key string) bool { return key != field && strings.EqualFold(key, field) })
			if value, has := item[field]; item != nil && value == nil && shown.isPlain && !isAnyCase && (has || shown.hasAllKeys(item)) {
				report(above+field, "%s%s: is missing; every deploy item needs a name, a type and a config", above, field)
			}
		}
		if value := item["config"]; value != nil && !isMap && isShown(value) && shown.isPlain {
			report(above+"config", "%sconfig: is no object of keys and values; write one", above)
		}
		if meant := render.MeantType(kind); meant != "" && isLiteral(kind) {
			report(above+"type", "%stype: %q is unknown; did you mean %s?", above, kind, meant)
		}
		if known, builtIn := configurations[kind]; builtIn && isMap && isLiteral(version) {
			like, err := known.version(version)
			if err != nil {
				report(at+"apiVersion", "%s%v", at, err)
				continue
			}
			unknown(at, keys.BesideConfig(keys.KeysOf(config, like, false), v1alpha1.DeployItemTemplate{}))
			if shown.isPlain && isShown(config["updateStrategy"]) && isShown(config["helmDeployment"]) { // on which it depends what else may be there
				shown.refused(at, like, known.check, report)
			}
		}
	}
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

// outline is a YAML document as its template shows it, with the places of its values by their paths.
type outline struct {
	tree   any
	values map[string]any
	places map[string]place
	// several are the paths of keys that appear several times.
	several map[string]bool
	// lines are those of the template, and isAll is false where some may become further keys.
	lines []string
	isAll bool
	// isPlain is true where each action, if there are any, gives one value: no branches, no loops, and nothing that is several lines.
	isPlain bool
}

// severalLines finds what makes more of a template, or less, than a value in its place.
var severalLines = regexp.MustCompile(`\{\{-|-\}\}|\{\{\s*(?:/\*|\$\w+\s*:?=|(?:if|else|end|range|with|without|define|block|template)\b)|\b(?:include|tpl|n?indent|toYaml|toPrettyJson|readFile)\b|\(\(|<<|\$\{`)

// outlineOf returns the outline of a template, nil where it shows nothing.
func outlineOf(s source, root *yamlv3.Node, isAll bool) *outline {
	if root == nil {
		return nil
	}
	o := &outline{values: map[string]any{}, places: map[string]place{}, several: map[string]bool{}, lines: strings.Split(s.text, "\n"), isAll: isAll,
		isPlain: !severalLines.MatchString(s.text)}
	o.tree = o.value(root, "")
	return o
}

// value returns what a node says, without what aliases stand for. Keys may appear several times, as in the branches of a condition: their lists are
// put together, and their maps.
func (o *outline) value(n *yamlv3.Node, path string) (value any) {
	o.places[path] = place{n.Line, n.Column}
	defer func() { o.values[path] = value }()
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
		return o.scalar(n)
	}
	return hidden
}

// scalar returns hidden for what only an execution tells: a line with actions, and a key without value where a line below it is one.
func (o *outline) scalar(n *yamlv3.Node) (value any) {
	isOpen := n.Value == "" && n.Tag == "!!null" && !o.isAll
	if isOpen || n.Line <= len(o.lines) && strings.Contains(o.lines[n.Line-1], "{{") {
		return hidden
	}
	if n.Style != 0 || foreign.Unmarshal([]byte(n.Value), &value) != nil { // plain words are read as in a cluster, where yes is a boolean
		return n.Value
	}
	return value
}

func each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
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

// hasAllKeys reports whether an object, and those in it, will have no further keys.
func (o *outline) hasAllKeys(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if !isLiteral(key) || !o.hasAllKeys(inner) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(inner any) bool { return !o.hasAllKeys(inner) })
	}
	return o.isAll
}

// isShown reports whether a value, with all in it, stands in the template as it will be.
func isShown(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if !isLiteral(key) || !isShown(inner) {
				return false
			}
		}
	case []any:
		return !slices.ContainsFunc(value, func(inner any) bool { return !isShown(inner) })
	case string:
		return isLiteral(value)
	}
	return true
}

// fit reports the values below a path that the type of like does not take. It returns what is left, as JSON-like data, and the paths of the others.
func (o *outline) fit(at string, like any, report func(path, format string, args ...any)) (left any, misfits []string) {
	raw, err := json.Marshal(o.values[strings.TrimSuffix(at, ".")])
	if err != nil || json.Unmarshal(raw, &left) != nil {
		return nil, nil
	}
	left = keys.Fit(reflect.TypeOf(like).Elem(), left, func(m keys.Misfit) {
		misfits = append(misfits, m.Path)
		if isShown(m.Value) {
			report(at+m.Path, "%s%s: %s", at, m.Path, m.Problem())
		}
	})
	return left, misfits
}

// refused reports what a deployer would refuse in the configuration at a path.
func (o *outline) refused(at string, like any, check func(raw []byte) error, report func(path, format string, args ...any)) {
	left, misfits := o.fit(at, like, report)
	raw, err := json.Marshal(left)
	if left == nil || err != nil {
		return
	}
	for _, problem := range each(check(raw)) {
		path, _, _ := strings.Cut(problem.Error(), ": ")
		value, has := o.values[at+path]
		_, isMap := value.(map[string]any)
		_, isList := value.([]any)
		isSure := has && isShown(value) && (o.isAll || !isMap && !isList) || !has && o.hasAllKeys(o.values[strings.TrimSuffix(at, ".")])
		isOf := func(misfit string) bool { // or beside it, in the same object
			return strings.HasPrefix(path, misfit) || strings.Contains(misfit, ".") && strings.HasPrefix(path, misfit[:strings.LastIndex(misfit, ".")])
		}
		if isSure && isLiteral(problem.Error()) && !slices.ContainsFunc(misfits, isOf) {
			report(at+path, "%s%v", at, problem)
		}
	}
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
