// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/mandelsoft/spiff/dynaml"
	"github.com/mandelsoft/spiff/features"
	"github.com/mandelsoft/spiff/flow"
	spiffyaml "github.com/mandelsoft/spiff/yaml"
	"github.com/mandelsoft/vfs/pkg/memoryfs"
	"github.com/mandelsoft/vfs/pkg/readonlyfs"
	"github.com/mandelsoft/vfs/pkg/vfs"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Spiff runs Spiff++ without its functions for commands, environment, network and writing. Its files are those of the blueprint.
// Bindings are data: a text in them that looks like an expression is not evaluated.
type Spiff struct{}

// Execute processes the template, which is YAML.
func (Spiff) Execute(ctx context.Context, in Input) (Output, error) {
	out, err := runSpiff(ctx, in)
	if err != nil {
		return Output{}, &Error{Executor: in.Name, File: in.File, Inputs: describeInputs(in.Values), Err: mask(err, in)}
	}
	return out, nil
}

// sourceName is what the library calls the template; it looks for a file of that name in the working directory, so it is a name that
// no file has.
const sourceName = "template\x00"

func runSpiff(ctx context.Context, in Input) (Output, error) {
	template, err := parseSpiff(in)
	if err != nil {
		return Output{}, err
	}
	box, err := newSandbox(ctx, in)
	if err != nil {
		return Output{}, err
	}
	var stubs []spiffyaml.Node
	if len(in.State) > 0 {
		state, err := toNode(in.State, false)
		if err != nil {
			return Output{}, err
		}
		stubs = append(stubs, state)
	}
	result, err := flow.Cascade(box, template, flow.Options{}, stubs...)
	if err != nil {
		return Output{}, spiffError(err)
	}
	return spiffOutput(result)
}

func parseSpiff(in Input) (spiffyaml.Node, error) {
	if err := checkSource(in.Source); err != nil {
		return nil, err
	}
	if err := cmp.Or(foreign.Afford([]byte(in.Source)), foreign.CheckNumbers([]byte(in.Source)), foreign.CheckWhole([]byte(in.Source))); err != nil {
		return nil, unreadable("the template", err)
	}
	template, err := spiffyaml.Unmarshal(sourceName, []byte(in.Source))
	if err != nil {
		return nil, fmt.Errorf("the template is not YAML: %w", err)
	}
	return template, nil
}

// spiffError leaves out of the library's report what it calls the template.
func spiffError(err error) error {
	return withCure(errors.New(strings.ReplaceAll(err.Error(), sourceName, "template")))
}

func spiffOutput(result spiffyaml.Node) (Output, error) {
	document, err := toJSON(result)
	if err != nil {
		return Output{}, err
	}
	if string(document) == "null" {
		document = []byte("{}")
	}
	if document[0] != '{' {
		return Output{}, errors.New("the output is not an object with keys like deployItems or exports")
	}
	state, err := toJSON(flow.DetermineState(result))
	if string(state) == "null" || string(state) == "{}" {
		state = nil
	}
	return Output{Document: document, State: state}, err
}

func toJSON(node spiffyaml.Node) (json.RawMessage, error) {
	plain, err := fromNode(node)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(plain)
	if len(out) > maxOutput {
		return nil, errOutput
	}
	return out, err
}

// fromNode turns what the library works with into JSON-like data.
func fromNode(node spiffyaml.Node) (any, error) {
	plain, err := spiffyaml.Normalize(node)
	if err != nil {
		return nil, errors.New("the result contains a value that is not data, for example a function")
	}
	return plain, nil
}

// toNode turns JSON-like data into what the library works with. Evaluate says whether texts that look like expressions count as such.
func toNode(value any, evaluate bool) (spiffyaml.Node, error) {
	if !evaluate {
		value = escaped(value)
	}
	return spiffyaml.Sanitize(sourceName, value)
}

// Literal copies JSON-like data so that Spiff yields it as it is, whatever in it looks like an expression.
func Literal(value any) any { return escaped(value) }

// escaped copies a value, and protects texts and keys that mean something to Spiff.
func escaped(value any) any {
	switch t := value.(type) {
	case string:
		return escapedText(t)
	case []any:
		out := make([]any, len(t))
		for i, item := range t {
			out[i] = escaped(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, item := range t {
			out[escapedKey(key)] = escaped(item)
		}
		return out
	}
	return value
}

func escapedText(text string) string {
	if strings.HasPrefix(text, "((") && strings.HasSuffix(text, "))") && len(text) >= 4 {
		return "((!" + text[2:]
	}
	return text
}

func escapedKey(key string) string {
	for _, merge := range []string{spiffyaml.MERGEKEY, "<<"} {
		if strings.HasPrefix(key, merge) {
			return merge + "!" + key[len(merge):]
		}
	}
	return key
}

// nodeOf wraps a value of an expression.
func nodeOf(value any) spiffyaml.Node { return dynaml.NewNode(value, nil) }

// spiffFunctions are the functions beside those that the library has built in.
type spiffFunctions struct {
	dynaml.Functions
}

func newSpiffFunctions(ctx context.Context, in Input) *spiffFunctions {
	c := componentsOf(ctx, in)
	f := &spiffFunctions{Functions: dynaml.NewFunctions()}
	for name, call := range executionFunctions(ctx, in) {
		f.add(name, call)
	}
	f.add("getResourceContent", unary(func(ref any) (any, error) { return contentValue(c, ref) }))
	f.add("parseOCIRef", unary(func(ref any) (any, error) { return ociParts(ref) }))
	f.add("ociRefRepo", unary(func(ref any) (any, error) { return ociRefRepo(str(ref)) }))
	f.add("ociRefVersion", unary(func(ref any) (any, error) { return ociRefVersion(str(ref)) }))
	return f
}

// add registers a function on JSON-like data.
func (f *spiffFunctions) add(name string, call call) {
	f.RegisterFunction(name, func(args []any, _ dynaml.Binding) (any, dynaml.EvaluationInfo, bool) {
		info := dynaml.DefaultInfo()
		result, err := f.invoke(args, call)
		if err != nil {
			return info.Error("%s: %s", name, err)
		}
		return result, info, true
	})
}

func (f *spiffFunctions) invoke(args []any, call call) (any, error) {
	converted := make([]any, len(args))
	for i, arg := range args {
		value, err := fromNode(nodeOf(arg))
		if err != nil {
			return nil, err
		}
		converted[i] = value
	}
	result, err := call(converted...)
	if err != nil {
		return nil, err
	}
	node, err := toNode(result, false)
	if err != nil {
		return nil, errors.New("the result is not JSON data")
	}
	return node.Value(), nil
}

func ociParts(ref any) (any, error) {
	parts, err := parseOCIRef(str(ref))
	return []any{parts[0], parts[1]}, err
}

// contentValue reads the content of a resource as YAML, or returns it in base64 when it is binary.
func contentValue(c components, ref any) (any, error) {
	content, err := c.content(ref)
	if err != nil {
		return nil, err
	}
	if content.MediaType == "application/octet-stream" {
		return base64.StdEncoding.EncodeToString(content.Data), nil
	}
	var out any
	if err := foreign.Unmarshal(content.Data, &out); err != nil {
		return nil, errors.New("the content of the resource " + foreign.Problem(err))
	}
	return out, nil
}

// asNodes returns the entries of an object.
func asNodes(node spiffyaml.Node) map[string]spiffyaml.Node {
	out, _ := node.Value().(map[string]spiffyaml.Node)
	return out
}

// The library reads the environment once at its start and answers the function env from that copy whatever its mode. This replaces
// the copy by an empty one; the environment of the process is as before.
func init() {
	variables := os.Environ()
	os.Clearenv()
	dynaml.ReloadEnv()
	for _, variable := range variables {
		if name, value, ok := strings.Cut(variable, "="); ok {
			_ = os.Setenv(name, value)
		}
	}
}

// sandbox is the outermost binding: all others ask it for the state.
type sandbox struct {
	dynaml.Binding
	state *sandboxState
}

func (s *sandbox) GetState() dynaml.State                  { return s.state }
func (s *sandbox) GetFeatures() features.FeatureFlags      { return s.state.GetFeatures() }
func (s *sandbox) GetTempName(data []byte) (string, error) { return s.state.GetTempName(data) }
func (s *sandbox) GetFileContent(file string, cached bool) ([]byte, error) {
	return s.state.GetFileContent(file, cached)
}

func newSandbox(ctx context.Context, in Input) (*sandbox, error) {
	values, err := toNode(in.Values, false)
	if err != nil {
		return nil, errors.New("the bindings contain a value that is not JSON data")
	}
	state := flow.NewState("", 0, memoryfs.New())
	state.SetFeatures(features.FeatureFlags{})
	state.SetRegistry(dynaml.DefaultRegistry().WithFunctions(newSpiffFunctions(ctx, in)))
	box := &sandbox{state: &sandboxState{State: state, files: in.Files}}
	box.Binding = flow.NewEnvironment(nil, sourceName, state)
	if entries := asNodes(values); len(entries) > 0 {
		box.Binding = box.Binding.WithLocalScope(entries)
	}
	return box, nil
}

// sandboxState replaces the parts of the library's state that reach outside.
type sandboxState struct {
	*flow.State
	files fs.FS
	tree  vfs.VFS
}

var _ dynaml.State = (*sandboxState)(nil)

var errNoFiles = errors.New("temporary files are not available here")

func (s *sandboxState) OSAccessAllowed() bool              { return false }
func (s *sandboxState) FileAccessAllowed() bool            { return s.files != nil }
func (s *sandboxState) GetTempName([]byte) (string, error) { return "", errNoFiles }
func (s *sandboxState) GetEncryptionKey() string           { return "" }
func (s *sandboxState) InterpolationEnabled() bool         { return false }

// GetFileContent reads a file of the blueprint; the library would also get URLs.
func (s *sandboxState) GetFileContent(file string, _ bool) ([]byte, error) {
	if strings.Contains(file, "://") {
		return nil, errors.New("the network is not available here; read files of the blueprint")
	}
	data, err := ReadFile(s.files, file)
	if err != nil {
		return nil, err
	}
	// The library may read the file as YAML, but it need not be any.
	if err := foreign.Afford(data); errors.Is(err, foreign.ErrTooMuch) {
		return nil, unreadable("file "+strconv.Quote(file)+" of the blueprint", err)
	}
	return data, nil
}

// FileSystem returns a read-only copy of the blueprint, for functions that look what files there are.
func (s *sandboxState) FileSystem() vfs.VFS {
	if s.tree == nil {
		s.tree = vfs.New(readonlyfs.New(s.names()))
	}
	return s.tree
}

// names has the files of the blueprint without content, which is read by GetFileContent.
func (s *sandboxState) names() vfs.FileSystem {
	out := memoryfs.New()
	entries := 0
	_ = fs.WalkDir(s.files, ".", func(at string, entry fs.DirEntry, err error) error {
		if entries++; err != nil || entries > 10000 {
			return fs.SkipAll
		}
		if entry.IsDir() {
			return out.MkdirAll(path.Join("/", at), 0o555)
		}
		return vfs.WriteFile(out, path.Join("/", at), nil, 0o444)
	})
	return out
}
