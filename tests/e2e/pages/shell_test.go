// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/pages"
)

// A shell is that of a person who follows a page: it keeps its folder and variables from block to block.
type shell struct {
	t *testing.T
	// folder is that of the page.
	folder string
	stdin  io.Writer
	out    *bufio.Reader
}

// end is what the shell says after each command, with the status.
const end = "@@@ the command has ended:"

// shell begins in the folder of the demo, where bin is that of a checkout.
func (d *demo) shell() *shell {
	d.t.Helper()
	bash := exec.Command("bash", "--noprofile", "--norc")
	bash.Dir = d.dir
	bash.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CEILING_DIRECTORIES="+filepath.Dir(d.dir), "HOME="+d.dir, "COLUMNS=100",
		"PATH="+d.tools+":"+os.Getenv("PATH"), "GIT_AUTHOR_NAME=Person", "GIT_AUTHOR_EMAIL=person@example.com",
		"GIT_COMMITTER_NAME=Person", "GIT_COMMITTER_EMAIL=person@example.com", "NO_COLOR=1")
	stdin, err := bash.StdinPipe()
	require.NoError(d.t, err)
	out, err := bash.StdoutPipe()
	require.NoError(d.t, err)
	bash.Stderr = bash.Stdout
	require.NoError(d.t, bash.Start())
	d.t.Cleanup(func() {
		_ = stdin.(io.Closer).Close()
		_ = bash.Wait()
	})
	return &shell{t: d.t, stdin: stdin, out: bufio.NewReader(out)}
}

// try runs commands and returns what they print, without spaces at the ends of lines, and their status.
func (s *shell) try(script string) (output string, status int) {
	s.t.Helper()
	_, err := fmt.Fprintf(s.stdin, "{ %s\n} </dev/null\necho; echo '%s' $?\n", strings.TrimRight(script, "\n"), end)
	require.NoError(s.t, err)
	var lines []string
	for {
		line, err := s.out.ReadString('\n')
		require.NoError(s.t, err, "the shell has ended at\n%s\n%s", script, strings.Join(lines, "\n"))
		if rest, ended := strings.CutPrefix(line, end); ended {
			_, err := fmt.Sscanf(rest, "%d", &status)
			require.NoError(s.t, err)
			return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n", status
		}
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
}

// do runs commands, each of which has to succeed.
func (s *shell) do(script string) {
	s.t.Helper()
	output, status := s.try("set -e\n" + script + "\nset +e")
	require.Zero(s.t, status, "%s\n%s", script, output)
}

// until repeats a command until its output holds a text.
func (s *shell) until(command, text string) {
	s.t.Helper()
	var output string
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(tick) {
		if output, _ = s.try(command); strings.Contains(output, text) {
			return
		}
	}
	require.Fail(s.t, "the output never holds "+text, "$ %s\n%s", command, output)
}

// follow does what a block says. What it shows as output comes, if not at once; else it is returned with what came instead.
func (s *shell) follow(block pages.Block) (changed []change) {
	s.t.Helper()
	switch block.Language {
	case pages.Commands:
		s.do(block.Text)
	case pages.Console:
		for _, entry := range block.Entries() {
			if block.Picture != "" {
				changed = append(changed, s.draw(block.Picture, entry)...)
			} else if real := s.show(entry); real != entry.Output {
				indent := func(text string) string {
					text = block.Indent + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+block.Indent) + "\n"
					return strings.ReplaceAll(text, "\n"+block.Indent+"\n", "\n\n")
				}
				shown := "$ " + entry.Command
				changed = append(changed, change{shown: indent(shown + entry.Output), real: indent(shown + real)})
			}
		}
	case pages.Manifest:
		if file := block.File(); file != "" {
			s.do(fmt.Sprintf("mkdir -p \"$(dirname %[1]s)\"\ncat >%[1]s <<'END OF FILE'\n%[2]sEND OF FILE", file, block.Content()))
		}
	}
	return changed
}

// show repeats a command until it prints what the page shows, and returns that. With -update it may print another thing, which stays the same for a while.
func (s *shell) show(entry pages.Entry) string {
	s.t.Helper()
	last, since := "", time.Now()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(tick) {
		output, _ := s.try(entry.Command)
		if normal(output) == normal(entry.Output) {
			return entry.Output
		}
		if normal(output) != normal(last) {
			since = time.Now()
		}
		if last = output; *update && time.Since(since) > settled {
			return undated(output)
		}
	}
	require.Equal(s.t, normal(entry.Output), normal(last), "$ %s\n%s", entry.Command, last)
	return entry.Output
}

// draw does what show does, for output that a picture shows. The file is seen from the folder of the page.
func (s *shell) draw(file string, entry pages.Entry) []change {
	s.t.Helper()
	shown := "$ " + entry.Command
	drawn, err := os.ReadFile(filepath.Join(s.folder, file))
	if !*update {
		require.NoError(s.t, err)
	}
	entry.Output = strings.TrimPrefix(pages.Drawn(string(drawn)), shown)
	real := s.show(entry)
	if real == entry.Output {
		return nil
	}
	return []change{{picture: filepath.Join(s.folder, file), real: pages.Picture(shown + real)}}
}

var (
	day      = regexp.MustCompile(`\d{4}-\d\d-\d\dT`)
	freePort = regexp.MustCompile(`127\.0\.0\.1:\d{5}`)
)

// undated is output without the day of its run and the ports that were free then, for a page.
func undated(text string) string {
	return freePort.ReplaceAllString(day.ReplaceAllString(text, "2026-01-01T"), "127.0.0.1:40000")
}

// variable is what differs from run to run, with what stands for it.
var variable = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\b(\d+(\.\d+)?(ms|s|m|h|d))+\b`), "DURATION"},
	{regexp.MustCompile(`\b[0-9a-f]{8,64}\b`), "HASH"},
	{regexp.MustCompile(`-[a-z0-9]{8}\b`), "-SUFFIX"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "SERVER"},
	{regexp.MustCompile(`/tmp/[^\s'"]+`), "FILE"},
	{regexp.MustCompile(`─{3,}`), "───"},
	{regexp.MustCompile(`\s+`), " "}, // where lines are wrapped depends on the rest
}

// normal is text without what differs from run to run.
func normal(text string) string {
	for _, one := range variable {
		text = one.pattern.ReplaceAllString(text, one.stands)
	}
	return strings.TrimSpace(text)
}
