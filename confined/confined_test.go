// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package confined_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// request is what the program of these tests does.
type request struct {
	Do   string
	Text string
}

var program = confined.NewProgram("test", perform)

func perform(_ context.Context, parent *confined.Parent, r request) (string, error) {
	if r.Text != "" {
		parent.Begin(r.Text)
	}
	if r.Do == "dial" {
		_, err := net.Dial("tcp", r.Text)
		return "", err
	}
	act, ok := acts()[r.Do]
	if !ok {
		return r.Text, nil
	}
	return act(parent)
}

func acts() map[string]func(*confined.Parent) (string, error) {
	return map[string]func(*confined.Parent) (string, error){
		"fail":  func(*confined.Parent) (string, error) { return "", errors.New("no") },
		"panic": func(*confined.Parent) (string, error) { panic("the secret") },
		"pid":   func(*confined.Parent) (string, error) { return strconv.Itoa(os.Getpid()), nil },
		"loop": func(*confined.Parent) (string, error) {
			for i := 0; ; i++ {
				_ = i
			}
		},
		"recurse": func(*confined.Parent) (string, error) { return strconv.Itoa(deeper(0)), nil },
		"once":    func(*confined.Parent) (string, error) { return strconv.Itoa(len(make([]byte, 4<<30))), nil },
		"grow": func(*confined.Parent) (string, error) {
			var all [][]byte
			for {
				all = append(all, []byte(strings.Repeat("x", 1<<20)))
				runtime.KeepAlive(all)
			}
		},
		"print":   func(*confined.Parent) (string, error) { return strings.Repeat("x", 80<<20), nil },
		"environ": func(*confined.Parent) (string, error) { return strings.Join(os.Environ(), ","), nil },
		"ask":     func(p *confined.Parent) (string, error) { return confined.Ask[string, string](p, "greet", "you") },
		"write": func(*confined.Parent) (string, error) {
			return "", os.WriteFile(os.TempDir()+"/written-by-a-child", []byte("x"), 0o600)
		},
		"listen": func(*confined.Parent) (string, error) {
			_, err := net.Listen("tcp", "127.0.0.1:0")
			return "", err
		},
		"start":       func(*confined.Parent) (string, error) { return "", exec.Command("/proc/self/exe").Run() },
		"threads":     threads,
		"descriptors": descriptors,
		"visit":       visit,
		"asks":        askForEver,
		"die":         killed,
		"obey":        obey,
		"say": func(*confined.Parent) (string, error) {
			fmt.Println("hello")
			return "said", nil
		},
		"grumble": func(*confined.Parent) (string, error) {
			log.Print(strings.Repeat("x", 1<<20))
			return strconv.Itoa(deeper(0)), nil
		},
		"doze": func(p *confined.Parent) (string, error) {
			if _, err := confined.Ask[string, string](p, "greet", "you"); err != nil {
				return "", err
			}
			<-time.After(2 * patience)
			return "awake", nil
		},
	}
}

// patience is the time of jobs that doze.
const patience = 300 * time.Millisecond

func deeper(n int) int {
	if n < 0 {
		return 0
	}
	return deeper(n+1) + 1
}

func askForEver(p *confined.Parent) (string, error) {
	for {
		if _, err := confined.Ask[string, string](p, "greet", "you"); err != nil {
			return "", err
		}
	}
}

// descriptors lists what is open, without what the runtime has for itself.
func descriptors(*confined.Parent) (string, error) {
	entries, err := os.ReadDir("/proc/self/fd")
	var out []string
	for _, entry := range entries {
		leads, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && !strings.Contains(leads, "event") {
			out = append(out, entry.Name())
		}
	}
	return strings.Join(out, " "), err
}

// threads returns what the system says of each thread.
func threads(*confined.Parent) (string, error) {
	files, err := filepath.Glob("/proc/self/task/*/status")
	var out strings.Builder
	for _, file := range files {
		status, _ := os.ReadFile(file) // a thread may have ended
		out.Write(status)
	}
	return out.String(), err
}

// visit tells the parent where it is, and when it leaves.
func visit(p *confined.Parent) (string, error) {
	_, err := confined.Ask[string, string](p, "greet", strconv.Itoa(os.Getpid()))
	if err == nil {
		_, err = confined.Ask[string, string](p, "bye", "")
	}
	return "", err
}

func newPool(t testing.TB, limits confined.Limits) *confined.Pool[request, string] {
	pool := confined.NewPool(program, limits)
	return pool
}

func run(t testing.TB, pool *confined.Pool[request, string], owner, act string) (string, error) {
	return pool.Run(t.Context(), confined.Job{Owner: owner}, request{Do: act, Text: "step of " + owner})
}

func TestResultsAndErrorsComeBack(t *testing.T) {
	pool := newPool(t, confined.Limits{})
	out, err := pool.Run(t.Context(), confined.Job{}, request{Text: "hello"})
	require.NoError(t, err)
	assert.Equal(t, "hello", out)
	_, err = run(t, pool, "a", "fail")
	require.EqualError(t, err, "no")
}

func TestPanicShowsItsPlaceOnly(t *testing.T) {
	_, err := run(t, newPool(t, confined.Limits{}), "a", "panic")
	require.ErrorContains(t, err, "the engine panicked (string)")
	assert.NotContains(t, err.Error(), "secret")
}

func TestBombsEndTheirOwnJobOnly(t *testing.T) {
	cases := map[string]struct {
		reason confined.Reason
		words  string
	}{
		"loop":    {confined.OutOfTime, "within 4s"},
		"recurse": {confined.TooDeep, "calls itself"},
		"once":    {confined.OutOfMemory, "64 MiB"},
		"grow":    {confined.OutOfMemory, "64 MiB"},
		"print":   {confined.TooMuchOutput, "64 MiB"},
	}
	pool := newPool(t, confined.Limits{Time: 4 * time.Second, Memory: 64 << 20})
	for act, want := range cases {
		t.Run(act, func(t *testing.T) {
			before := time.Now()
			_, err := run(t, pool, "hostile", act)
			var ended *confined.Ended
			require.ErrorAs(t, err, &ended)
			assert.Equal(t, want.reason, ended.Reason, err)
			assert.ErrorContains(t, err, want.words)
			assert.ErrorContains(t, err, "step of hostile")
			assert.Less(t, time.Since(before), pace.Within(5*time.Second))
			out, err := pool.Run(t.Context(), confined.Job{Owner: "other"}, request{Text: "fine"})
			require.NoError(t, err)
			assert.Equal(t, "fine", out)
		})
	}
}

func TestLargeResultIsRefused(t *testing.T) {
	_, err := run(t, newPool(t, confined.Limits{Memory: 1 << 30}), "a", "print")
	var ended *confined.Ended
	require.ErrorAs(t, err, &ended)
	assert.Equal(t, confined.TooMuchOutput, ended.Reason)
}

func TestChildHasNoEnvironment(t *testing.T) {
	t.Setenv("LANDSCAPER_TEST_SECRET", "secret")
	out, err := run(t, newPool(t, confined.Limits{}), "a", "environ")
	require.NoError(t, err)
	assert.Empty(t, out)
}

func TestChildInheritsNoDescriptors(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer func() { _, _ = read.Close(), write.Close() }()
	leaking, err := syscall.Dup(int(write.Fd())) // without close-on-exec, as a careless library opens it
	require.NoError(t, err)
	defer func() { _ = syscall.Close(leaking) }()
	out, err := run(t, newPool(t, confined.Limits{}), "a", "descriptors")
	require.NoError(t, err)
	assert.Equal(t, "0 1 2", strings.Join(strings.Fields(out)[:3], " "))
	assert.LessOrEqual(t, len(strings.Fields(out)), 4, "the three, and the folder that is being listed: %s", out)
}

func TestChildCannotWriteFiles(t *testing.T) {
	defer func() { _ = os.Remove(os.TempDir() + "/written-by-a-child") }()
	_, err := run(t, newPool(t, confined.Limits{}), "a", "write")
	require.Error(t, err)
}

func TestChildHasNoNetwork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux refuses calls of the system")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	pool := newPool(t, confined.Limits{})
	for _, act := range []string{"dial", "listen", "start"} {
		_, err := pool.Run(t.Context(), confined.Job{Owner: "a"}, request{Do: act, Text: listener.Addr().String()})
		require.ErrorContains(t, err, "operation not permitted", act)
	}
}

func TestNoThreadOfAChildGainsPrivileges(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("privileges of threads are a matter of Linux")
	}
	out, err := run(t, newPool(t, confined.Limits{}), "a", "threads")
	require.NoError(t, err)
	assert.Contains(t, out, "NoNewPrivs:\t1")
	assert.NotContains(t, out, "NoNewPrivs:\t0")
}

func TestQuestionsAreAnswered(t *testing.T) {
	greet := confined.AnswerWith(func(_ context.Context, name string) (string, error) { return "hello " + name, nil })
	pool := newPool(t, confined.Limits{})
	out, err := pool.Run(t.Context(), confined.Job{Answers: map[string]confined.Answer{"greet": greet}}, request{Do: "ask"})
	require.NoError(t, err)
	assert.Equal(t, "hello you", out)
	_, err = run(t, pool, "a", "ask")
	require.EqualError(t, err, "it is not available here")
}

func TestTimeOfAnswersDoesNotCount(t *testing.T) {
	slow := confined.AnswerWith(func(context.Context, string) (string, error) {
		<-time.After(7 * patience)
		return "late", nil
	})
	pool := newPool(t, confined.Limits{Time: patience, Children: 1})
	job := confined.Job{Answers: map[string]confined.Answer{"greet": slow}}
	out, err := pool.Run(t.Context(), job, request{Do: "ask"})
	require.NoError(t, err)
	assert.Equal(t, "late", out)
	_, err = pool.Run(t.Context(), job, request{Do: "doze"})
	var ended *confined.Ended
	require.ErrorAs(t, err, &ended)
	assert.Equal(t, confined.OutOfTime, ended.Reason, "what comes after an answer counts")
}

func TestAnswerThatPanicsEndsItsOwnJobOnly(t *testing.T) {
	pool := newPool(t, confined.Limits{})
	panicking := func(context.Context, []byte) ([]byte, error) { panic("the secret") }
	_, err := pool.Run(t.Context(), confined.Job{Answers: map[string]confined.Answer{"greet": panicking}}, request{Do: "ask"})
	require.ErrorContains(t, err, "panicked (string)")
	assert.NotContains(t, err.Error(), "secret")
	out, err := pool.Run(t.Context(), confined.Job{}, request{Text: "fine"})
	require.NoError(t, err)
	assert.Equal(t, "fine", out)
}

func TestWhatLibrariesPrintBreaksNothing(t *testing.T) {
	out, err := run(t, newPool(t, confined.Limits{}), "a", "say")
	require.NoError(t, err)
	assert.Equal(t, "said", out)
}

func TestWhatLibrariesLogHidesNoCause(t *testing.T) {
	_, err := run(t, newPool(t, confined.Limits{}), "a", "grumble")
	var ended *confined.Ended
	require.ErrorAs(t, err, &ended)
	assert.Equal(t, confined.TooDeep, ended.Reason)
}

func TestAnswersHaveADeadline(t *testing.T) {
	hanging := func(ctx context.Context, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	pool := newPool(t, confined.Limits{Answer: 200 * time.Millisecond})
	_, err := pool.Run(t.Context(), confined.Job{Answers: map[string]confined.Answer{"greet": hanging}}, request{Do: "ask"})
	require.EqualError(t, err, "there was no answer within 200ms")
	fast := confined.AnswerWith(func(context.Context, string) (string, error) { return "", nil })
	_, err = newPool(t, confined.Limits{Answers: 50 * time.Millisecond}).Run(t.Context(),
		confined.Job{Answers: map[string]confined.Answer{"greet": fast}}, request{Do: "asks", Text: "step"})
	var ended *confined.Ended
	require.ErrorAs(t, err, &ended)
	assert.Equal(t, confined.TooMuchAsked, ended.Reason, "those of a job have one together")
	require.ErrorContains(t, err, "step: ")
	require.ErrorContains(t, err, "longer than 50ms; ask once")
}

func TestKilledChildFailsItsOwnJob(t *testing.T) {
	pool := newPool(t, confined.Limits{})
	_, err := pool.Run(t.Context(), confined.Job{}, request{Do: "die"})
	var ended *confined.Ended
	require.ErrorAs(t, err, &ended)
	assert.Equal(t, confined.Died, ended.Reason)
	_, err = pool.Run(t.Context(), confined.Job{}, request{Text: "again"})
	require.NoError(t, err)
}

func TestAJobIsBegunOnceMoreWhenItsChildIsKilled(t *testing.T) {
	pool := newPool(t, confined.Limits{})
	asked := 0
	once := confined.AnswerWith(func(context.Context, string) (string, error) {
		asked++
		if asked == 1 {
			return "die", nil
		}
		return "live", nil
	})
	out, err := pool.Run(t.Context(), confined.Job{Answers: map[string]confined.Answer{"greet": once}}, request{Do: "obey", Text: "in the middle of a step"})
	require.NoError(t, err)
	assert.Equal(t, "live", out)
}

// killed ends this process as the kernel does when memory runs out.
func killed(*confined.Parent) (string, error) {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return "", err
	}
	select {}
}

// obey dies when the parent says so.
func obey(p *confined.Parent) (string, error) {
	told, err := confined.Ask[string, string](p, "greet", "you")
	if err == nil && told == "die" {
		return killed(p)
	}
	return told, err
}

func TestOwnersNeverShareAChild(t *testing.T) {
	pool := newPool(t, confined.Limits{Children: 3})
	var mu sync.Mutex
	owners := map[string]string{}
	var all sync.WaitGroup
	for i := range 60 {
		owner := fmt.Sprintf("owner-%d", i%4)
		all.Go(func() {
			noted := ""
			enter := confined.AnswerWith(func(_ context.Context, pid string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				assert.Empty(t, owners[pid], "child %s", pid)
				owners[pid], noted = owner, pid
				return pid, nil
			})
			leave := confined.AnswerWith(func(context.Context, string) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				delete(owners, noted)
				return "", nil
			})
			_, err := pool.Run(t.Context(), confined.Job{Owner: owner, Answers: map[string]confined.Answer{"greet": enter, "bye": leave}}, request{Do: "visit"})
			assert.NoError(t, err)
		})
	}
	all.Wait()
}

func TestHostileOwnerHasHalfOfTheChildren(t *testing.T) {
	for children, most := range map[int]int{2: 1, 4: 2, 5: 2} {
		pool := newPool(t, confined.Limits{Children: children})
		held := holding()
		var hostile sync.WaitGroup
		for range 6 {
			hostile.Go(func() { held.run(t, pool, "hostile") })
		}
		for range most {
			<-held.entered
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range 5 {
			_, err := pool.Run(ctx, confined.Job{Owner: fmt.Sprintf("other-%d", i)}, request{Do: "pid"})
			assert.NoError(t, err)
		}
		assert.Empty(t, held.entered, "the others are not its")
		close(held.released)
		hostile.Wait()
	}
}

// hold keeps children busy until it is released.
type hold struct{ entered, released chan struct{} }

func holding() hold { return hold{entered: make(chan struct{}, 16), released: make(chan struct{})} }

func (h hold) run(t *testing.T, pool *confined.Pool[request, string], owner string) {
	wait := confined.AnswerWith(func(context.Context, string) (string, error) {
		h.entered <- struct{}{}
		<-h.released
		return "", nil
	})
	_, err := pool.Run(t.Context(), confined.Job{Owner: owner, Answers: map[string]confined.Answer{"greet": wait}}, request{Do: "ask"})
	assert.NoError(t, err)
}

func TestBusyIsAWaitThatTheContextBounds(t *testing.T) {
	pool := newPool(t, confined.Limits{Children: 1})
	held := holding()
	var all sync.WaitGroup
	all.Go(func() { held.run(t, pool, "a") })
	<-held.entered
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := pool.Run(ctx, confined.Job{Owner: "b"}, request{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	all.Go(func() {
		_, err := pool.Run(t.Context(), confined.Job{Owner: "b"}, request{})
		assert.NoError(t, err)
	})
	assert.Eventually(t, func() bool { return metric(t, "landscaper_child_jobs_waiting") == 1 }, pace.Within(5*time.Second), time.Millisecond)
	close(held.released)
	all.Wait()
	assert.Zero(t, metric(t, "landscaper_child_jobs_waiting"))
}

// metric returns a gauge of the program of these tests.
func metric(t *testing.T, name string) float64 {
	families, err := ctrlmetrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		for _, found := range family.GetMetric() {
			if family.GetName() == name && len(found.GetLabel()) == 1 && found.GetLabel()[0].GetValue() == "test" {
				return found.GetGauge().GetValue()
			}
		}
	}
	return 0
}

// A pool heals by itself when all its workers are killed while they wait for work, as the kernel does it first of all when memory runs out.
func TestAPoolHealsWhenItsChildrenAreKilled(t *testing.T) {
	pool := newPool(t, confined.Limits{})
	held := holding()
	var all sync.WaitGroup
	for _, owner := range []string{"a", "b", "c"} {
		all.Go(func() { held.run(t, pool, owner) })
	}
	for range 3 {
		<-held.entered
	}
	close(held.released)
	all.Wait()
	killChildren(t)
	for range 3 {
		out, err := pool.Run(t.Context(), confined.Job{}, request{Text: "fine"})
		require.NoError(t, err)
		assert.Equal(t, "fine", out)
	}
}

// killChildren ends the child processes of this one.
func killChildren(t *testing.T) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
}

func TestChildrenThatCannotBeUsedAreAnError(t *testing.T) {
	_, err := run(t, newPool(t, confined.Limits{Memory: -1}), "a", "pid")
	require.ErrorIs(t, err, confined.ErrNotStarted)
	assert.ErrorContains(t, err, "-1 bytes of memory are not enough")
}

func TestIdleChildrenEnd(t *testing.T) {
	pool := newPool(t, confined.Limits{Idle: 100 * time.Millisecond})
	pid, err := run(t, pool, "a", "pid")
	require.NoError(t, err)
	assert.Eventually(t, func() bool {
		_, err := os.Stat("/proc/" + pid)
		return errors.Is(err, os.ErrNotExist)
	}, pace.Within(5*time.Second), 10*time.Millisecond)
	_, err = run(t, pool, "a", "pid")
	require.NoError(t, err)
}

// parentVariable makes this test binary a parent that is killed.
const parentVariable = "CONFINED_TEST_PARENT"

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) == "" {
		os.Exit(m.Run())
	}
	pool := confined.NewPool(program, confined.Limits{})
	pid, err := pool.Run(context.Background(), confined.Job{}, request{Do: "pid"})
	fmt.Println(pid, err)
	_, _ = pool.Run(context.Background(), confined.Job{}, request{Do: "loop"})
}

func TestChildrenEndWithTheirParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = []string{parentVariable + "=1"}
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line := make([]byte, 64)
	n, err := out.Read(line)
	require.NoError(t, err)
	pid, _, _ := strings.Cut(string(line[:n]), " ")
	require.NoError(t, parent.Process.Kill())
	_, _ = io.ReadAll(out)
	_ = parent.Wait()
	assert.Eventually(t, func() bool {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		return errors.Is(err, os.ErrNotExist) || strings.Contains(string(state), ") Z ")
	}, pace.Within(5*time.Second), 10*time.Millisecond)
}

func BenchmarkJob(b *testing.B) {
	pool := newPool(b, confined.Limits{})
	_, err := pool.Run(b.Context(), confined.Job{}, request{Text: "warm"})
	require.NoError(b, err)
	for b.Loop() {
		_, _ = pool.Run(b.Context(), confined.Job{}, request{Text: "x"})
	}
}

var vanishing = confined.NewProgram("vanishing", func(_ context.Context, parent *confined.Parent, step string) (string, error) {
	parent.Begin(step)
	os.Exit(71)
	return "", nil
})

// The step is known however soon the process ends after it has begun.
func TestStepOfAChildThatEndsAtOnceIsKnown(t *testing.T) {
	pool := confined.NewPool(vanishing, confined.Limits{})
	for range 20 {
		_, err := pool.Run(t.Context(), confined.Job{}, "template x")
		var ended *confined.Ended
		require.ErrorAs(t, err, &ended)
		require.Equal(t, confined.Ended{Reason: confined.OutOfMemory, Limit: ended.Limit, Step: "template x"}, *ended)
	}
}
