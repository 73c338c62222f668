// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"

	"github.com/mandelsoft/spiff/dynaml"
	"github.com/mandelsoft/spiff/features"
	"github.com/mandelsoft/spiff/flow"
	"github.com/mandelsoft/vfs/pkg/memoryfs"
	"github.com/mandelsoft/vfs/pkg/readonlyfs"
	"github.com/mandelsoft/vfs/pkg/vfs"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

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
