// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/landscape/page"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{LandscaperCRDs: true, Audit: true, ControllerManager: true, AddToScheme: []func(*runtime.Scheme) error{landscape.AddToScheme}}))
}

// patience is how long a page may take for anything that has no time of its own.
const patience = 2 * time.Minute

// pictures is the folder that screenshots are kept in.
const pictures = "../../../bin/page"

// browser is one tab, which fails its test when the page says anything on its console.
type browser struct {
	*testing.T
	context.Context
	address string
}

// serve shows a namespace as the command line does, and returns the address.
func serve(t *testing.T, namespace string) string {
	t.Helper()
	cluster := platform.Shared(t).Cluster
	snapshots, err := landscape.Watch(t.Context(), cluster.RestConfig, cluster.Client(), namespace)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &page.Server{Cluster: "https://landscaper.example.com", Namespace: namespace, Reader: cluster.Client()}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	go func() { served <- server.Serve(ctx, listener, snapshots) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-served)
	})
	return "http://" + listener.Addr().String()
}

// open starts a browser with a window of a width and height.
func open(t *testing.T, address string, width, height int) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed; on Debian it is the package of that name")
	}
	allocated, end := chromedp.NewExecAllocator(t.Context(),
		append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox)...)
	t.Cleanup(end)
	ctx, endTab := chromedp.NewContext(allocated)
	b := &browser{T: t, Context: ctx, address: address}
	console := chromedp.Console(ctx)
	var said []string
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		for message, err := range console {
			if err != nil {
				return
			}
			said = append(said, fmt.Sprintf("%s: %s", message.Type, message.Text))
		}
	}()
	t.Cleanup(func() {
		endTab()
		<-heard
		assert.Empty(t, said, "on the console of the browser")
	})
	b.run(chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

func (b *browser) run(action chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	require.NoError(b, chromedp.Do(ctx, action))
}

// visit loads the page with a fragment.
func (b *browser) visit(fragment string) {
	b.Helper()
	b.run(chromedp.Steps(chromedp.Navigate("about:blank"), chromedp.Navigate(b.address+"/"+fragment)))
}

// look loads the page and waits until graph or table show something.
func (b *browser) look(fragment string) {
	b.Helper()
	b.visit(fragment)
	b.await(`document.querySelector('#graph .node, #table tbody tr') !== null`)
}

// settle waits until the events of what is chosen are shown.
func (b *browser) settle() {
	b.Helper()
	b.await(`document.querySelector('#panel').textContent.includes('Events')`)
}

// theme chooses dark or light.
func (b *browser) theme(dark bool) {
	b.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	_, err := chromedp.Call(b.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	require.NoError(b, err)
}

// press sends keys to whatever has the keyboard.
func (b *browser) press(keys string) {
	b.Helper()
	named := map[string]string{"ArrowLeft": kb.ArrowLeft, "ArrowRight": kb.ArrowRight, "Enter": kb.Enter, "Escape": kb.Escape, "Tab": kb.Tab}
	b.run(chromedp.KeyEvent(cmp.Or(named[keys], keys)))
}

// tabTo presses the tab key until something has the keyboard that a selector matches.
func (b *browser) tabTo(selector string) {
	b.Helper()
	for range 60 {
		b.press("Tab")
		if ask[bool](b, fmt.Sprintf(`document.activeElement?.matches(%q) ?? false`, selector)) {
			return
		}
	}
	require.Fail(b, "the tab key never comes to "+selector)
}

// focus gives the keyboard to a node.
func (b *browser) focus(key string) {
	b.Helper()
	b.run(chromedp.Focus(chromedp.CSS(fmt.Sprintf(`[data-key="%s"]`, key))))
}

func (b *browser) click(selector string) {
	b.Helper()
	b.run(chromedp.Click(chromedp.CSS(selector)))
}

// isAccessible lets axe-core look at what is shown: nothing may be serious or critical.
func (b *browser) isAccessible() {
	b.Helper()
	axe, err := os.ReadFile("testdata/axe-core/axe.min.js")
	require.NoError(b, err)
	if !ask[bool](b, "typeof axe !== 'undefined'") {
		ask[int](b, string(axe)+";0")
	}
	found := ask[[]string](b, `axe.run().then(({violations}) => violations.filter(({impact}) => impact === 'serious' || impact === 'critical')
		.map(({id, help, nodes}) => id + ': ' + help + ': ' + nodes.slice(0, 3).map(({html, any}) => html.slice(0, 200) + ' ' + (any[0]?.message ?? '')).join(' | ')))`)
	assert.Empty(b, found)
}

// ask evaluates an expression of JavaScript, or awaits its promise.
func ask[T any](b *browser, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context, patience)
	defer cancel()
	answer, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b, err, expression)
	return answer
}

// await waits until an expression of JavaScript is true. The page allows no evaluation, so it is the browser that is asked again and again.
func (b *browser) await(expression string) {
	b.Helper()
	for end := time.Now().Add(patience); !ask[bool](b, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		require.True(b, time.Now().Before(end), "never so: "+expression)
	}
}

// picture keeps what the window shows.
func (b *browser) picture(name string) {
	b.Helper()
	image, err := chromedp.Run(b.Context, chromedp.CaptureScreenshot())
	require.NoError(b, err)
	require.NoError(b, os.MkdirAll(pictures, 0o755))
	require.NoError(b, os.WriteFile(filepath.Join(pictures, name+".png"), image, 0o600))
}
