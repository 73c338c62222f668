// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGeneratedPublicNames(t *testing.T) {
	fresh, err := PublicNames(files(t))
	require.NoError(t, err)
	require.Contains(t, fresh, "\ndeployers/contract: type Deployer interface, Ensure func(ctx context.Context, item *Item) (Outcome, error)\n")
	committed, err := os.ReadFile(loaded(t).Path(PublicNamesPage))
	require.NoError(t, err, cure)
	assert.True(t, fresh == string(committed), "%s is stale: %s", PublicNamesPage, cure)
}

func TestPublicNamesLeaveOutWhatIsNotExported(t *testing.T) {
	const source = `package target
const Open, closed = 1, 2
type Cluster struct { Client any; secret string; Embedded }
type hidden struct { Field int }
type Alias = map[string]int
func New(a, b int) (*Cluster, error) { return nil, nil }
func (c *Cluster) Close() {}
func (c *Cluster) close() {}
func (h hidden) Visible() {}
`
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, "deployers/target/x.go", source, 0)
	require.NoError(t, err)
	text, err := PublicNames([]*File{{Path: "deployers/target/x.go", Content: source, Syntax: syntax, Positions: positions}})
	require.NoError(t, err)
	require.Equal(t, []string{
		"deployers/target: const Open",
		"deployers/target: func (c *Cluster) Close()",
		"deployers/target: func New(a, b int) (*Cluster, error)",
		"deployers/target: type Alias map[string]int",
		"deployers/target: type Cluster struct",
		"deployers/target: type Cluster struct, Client any",
		"deployers/target: type Cluster struct, embeds Embedded",
	}, strings.Split(strings.TrimSpace(strings.TrimPrefix(text, publicNamesHead)), "\n"))
}
