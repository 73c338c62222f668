// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/agent"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// parsed is what the flags of one sub-command set. Parts that the sub-command does not have are nil.
type parsed struct {
	t          *testing.T
	process    *process
	controller *controllerFlags
	deployer   *deployerFlags
	helm       *helmFlags
	webhooks   *webhooksFlags
	agent      *agentFlags
	container  *containerFlags
	relay      *relayFlags
}

// parse parses arguments for a sub-command, and returns its flags, too.
func parse(t *testing.T, name string, args ...string) (*parsed, *pflag.FlagSet) {
	t.Helper()
	p, command := &parsed{t: t}, (*cobra.Command)(nil)
	switch name {
	case "controller":
		command, p.controller = controllerOf()
		p.process = &p.controller.process
	case "webhooks":
		command, p.webhooks = webhooksOf()
		p.process = &p.webhooks.process
	case "agent":
		command, p.agent = agentOf()
		p.process, p.helm = &p.agent.process, &p.agent.helm
	case "helm":
		command, p.deployer, p.helm = helmCommand()
		p.process = &p.deployer.process
	case "container":
		command, p.deployer, p.container = containerOf()
		p.process = &p.deployer.process
	case "relay":
		command, p.relay = relayOf()
		p.process = &p.relay.process
	default:
		command, _, p.deployer = deployerOf(name, "type", "", nil)
		p.process = &p.deployer.process
	}
	require.NoError(t, command.ParseFlags(args))
	return p, command.Flags()
}

func (p *parsed) manager() ctrl.Options { return p.process.managerOptions() }

func (p *parsed) contract() contract.Options {
	if p.agent != nil {
		return p.agent.contractOptions(&agent.Configuration{Name: "a"})
	}
	options, err := p.deployer.contractOptions()
	require.NoError(p.t, err)
	return options
}

func (p *parsed) artifacts() *artifactFlags {
	switch {
	case p.helm != nil:
		return &p.helm.artifacts
	case p.container != nil:
		return &p.container.artifacts
	case p.relay != nil:
		return &p.relay.artifacts
	}
	return &p.controller.artifacts
}

func (p *parsed) children() confined.Limits {
	flags := &childFlags{}
	switch {
	case p.helm != nil:
		flags = &p.helm.children
	case p.controller != nil:
		flags = &p.controller.children
	}
	limits, err := flags.limits()
	require.NoError(p.t, err)
	return limits
}

func (p *parsed) registries() *registryFlags {
	switch {
	case p.helm != nil:
		return &p.helm.registries
	case p.container != nil:
		return &p.container.registries
	case p.relay != nil:
		return &p.relay.registries
	}
	return &p.controller.components.registries
}

func (p *parsed) identities() *identityFlags {
	switch {
	case p.helm != nil:
		return &p.helm.identities
	case p.container != nil:
		return &p.container.identities
	case p.relay != nil:
		return &p.relay.identities
	}
	return &p.controller.components.identities
}

// shard returns which DeployItems the process caches.
func (p *parsed) shard() string {
	options := &ctrl.Options{Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{}}}
	if p.deployer == nil {
		return p.process.watch.LabelSelector
	}
	selector, err := labels.Parse(p.process.watch.LabelSelector)
	require.NoError(p.t, err)
	p.deployer.restrict(options, selector)
	for object, of := range options.Cache.ByObject {
		if _, isItem := object.(*v1alpha1.DeployItem); isItem {
			return of.Label.String()
		}
	}
	return ""
}

// effect is a value of a flag and what it has to become in what the process is made from.
type effect struct {
	value string
	of    func(*parsed) any
	want  any
}

const second = time.Second

// effects has every flag of every sub-command. Whoever adds a flag says here what it changes.
var effects = map[string]effect{
	"metrics-addr":                      {":1", func(p *parsed) any { return p.manager().Metrics.BindAddress }, ":1"},
	"health-addr":                       {":1", func(p *parsed) any { return p.manager().HealthProbeBindAddress }, ":1"},
	"graceful-shutdown-timeout":         {"1s", func(p *parsed) any { return *p.manager().GracefulShutdownTimeout }, second},
	"concurrent":                        {"3", func(p *parsed) any { return p.manager().Controller.MaxConcurrentReconciles }, 3},
	"enable-leader-election":            {"true", func(p *parsed) any { return p.manager().LeaderElection }, true},
	"leader-election-lease-duration":    {"1s", func(p *parsed) any { return *p.manager().LeaseDuration }, second},
	"leader-election-renew-deadline":    {"1s", func(p *parsed) any { return *p.manager().RenewDeadline }, second},
	"leader-election-retry-period":      {"1s", func(p *parsed) any { return *p.manager().RetryPeriod }, second},
	"leader-election-release-on-cancel": {"false", func(p *parsed) any { return p.manager().LeaderElectionReleaseOnCancel }, false},
	"watch-all-namespaces":              {"false", func(p *parsed) any { return len(p.manager().Cache.DefaultNamespaces) }, 1},
	"cache-sync-timeout":                {"1s", func(p *parsed) any { return p.manager().Controller.CacheSyncTimeout }, second},
	"watch-label-selector":              {"a=b", (*parsed).anyShard, "a=b"},
	"events-addr":                       {"http://e", func(p *parsed) any { return p.process.eventsAddr }, "http://e"},
	"landscaper-kubeconfig":             {"/k", func(p *parsed) any { return p.process.kubeconfig }, "/k"},
	"kube-api-qps":                      {"7", func(p *parsed) any { return p.connection().QPS }, float32(7)},
	"kube-api-burst":                    {"7", func(p *parsed) any { return p.connection().Burst }, 7},
	"log-level":                         {"trace", func(p *parsed) any { return p.process.logging.LogLevel }, "trace"},
	"log-encoding":                      {"console", func(p *parsed) any { return p.process.logging.LogEncoding }, "console"},
	"min-retry-delay":                   {"1s", (*parsed).minRetryDelay, second},
	"max-retry-delay":                   {"1s", (*parsed).maxRetryDelay, second},
	"interval-jitter-percentage":        {"7", (*parsed).jitter, uint8(7)},
	"no-cross-namespace-refs":           {"false", func(p *parsed) any { return p.process.acl.NoCrossNamespaceRefs }, false},

	"artifact-dir":           {"/a", func(p *parsed) any { return p.artifacts().dir }, "/a"},
	"http-retry":             {"3", func(p *parsed) any { return p.artifacts().retries }, 3},
	"artifact-cache-size":    {"3", func(p *parsed) any { return p.artifacts().cacheBytes }, int64(3)},
	"artifact-max-download":  {"3", func(p *parsed) any { return p.artifacts().maxDownload }, int64(3)},
	"artifact-hosts":         {"a,b:1", func(p *parsed) any { return strings.Join(p.artifacts().hosts, " ") }, "a b:1"},
	"artifact-max-extracted": {"3", func(p *parsed) any { return p.artifacts().maxExtracted }, int64(3)},
	"render-processes":       {"3", func(p *parsed) any { return p.children().Children }, 3},
	"render-process-memory":  {"67108864", func(p *parsed) any { return p.children().Memory }, int64(64 << 20)},
	"oci-mirror":             {"a=b", func(p *parsed) any { return p.registries().mirrors["a"] }, "b"},
	"oci-plain-http":         {"a,b", func(p *parsed) any { return len(p.registries().plainHTTP) }, 2},
	"oci-config-file":        {"a,b", func(p *parsed) any { return strings.Join(p.registries().configFiles, " ") }, "a,b"},
	"oci-cache-dir":          {"/o", func(p *parsed) any { return p.registries().dir }, "/o"},
	"oci-cache-size":         {"3", func(p *parsed) any { return p.registries().bytes }, int64(3)},
	"feature-gates": {"ObjectLevelWorkloadIdentity=true", func(p *parsed) any {
		supported := map[string]bool{"ObjectLevelWorkloadIdentity": false}
		require.NoError(p.t, p.identities().gates.SupportedFeatures(supported))
		return supported["ObjectLevelWorkloadIdentity"]
	}, true},
	"default-service-account": {"a", func(p *parsed) any {
		if p.deployer != nil {
			return p.deployer.targets.accounts.Self
		}
		return p.identities().defaultAccount
	}, "a"},
	"default-kubeconfig-service-account": {"a", func(p *parsed) any {
		if p.deployer != nil {
			return p.deployer.targets.accounts.Kubeconfig
		}
		return p.controller.targets.accounts.Kubeconfig
	}, "a"},
	"content-relay":                {"a/b", func(p *parsed) any { return p.contract().SkipPullSecrets }, true}, // the relay reads them
	"content-addr":                 {":1", func(p *parsed) any { return p.relay.address }, ":1"},
	"content-timeout":              {"1s", func(p *parsed) any { return p.relay.timeout }, second},
	"content-relay-namespace":      {"a", func(p *parsed) any { return p.controller.management.relay }, "a"},
	"registry-controller-identity": {"true", func(p *parsed) any { return p.identities().own }, true},
	"local-repository-dir": {"/l", func(p *parsed) any {
		switch {
		case p.helm != nil:
			return p.helm.localRoot
		case p.container != nil:
			return p.container.localRoot
		case p.relay != nil:
			return p.relay.localRoot
		}
		return p.controller.components.localRoot
	}, "/l"},

	"config": {"/c", func(p *parsed) any {
		if p.agent != nil {
			return p.agent.file
		}
		return p.deployer.file
	}, "/c"},
	"instance":             {"a", func(p *parsed) any { return p.agent.instance }, "a"},
	"bootstrap-kubeconfig": {"/b", func(p *parsed) any { return p.agent.bootstrap }, "/b"},
	"identity":             {"a", func(p *parsed) any { return p.contract().Identity }, "a"},
	"watch-namespaces":     {"a,b", func(p *parsed) any { return slices.Sorted(maps.Keys(p.manager().Cache.DefaultNamespaces)) }, []string{"a", "b"}},
	"target-selector":      {"{targets: [{name: a}]}", func(p *parsed) any { return len(p.contract().TargetSelectors) }, 1},
	"environment": {"a", func(p *parsed) any {
		return len(p.contract().TargetSelectors) == 1 && p.contract().TargetsOnly && p.deployer.environment.name == "a"
	}, true},
	"environment-secrets-namespace": {"a", func(p *parsed) any { return p.deployer.environment.namespace }, "a"},
	"insecure-kubeconfig-tls":       {"true", func(p *parsed) any { return p.deployer.insecureTLS }, true},
	"legacy-target-tokens":          {"true", func(p *parsed) any { return p.deployer.legacyTokens }, true},
	"min-continuous-interval":       {"1s", func(p *parsed) any { return p.contract().MinContinuousInterval }, second},
	"max-deploy-item-timeout":       {"1s", func(p *parsed) any { return p.contract().MaxTimeout }, second},
	"helm-driver":                   {"memory", func(p *parsed) any { return p.helm.driver }, "memory"},
	"helm-operations":               {"3", func(p *parsed) any { return p.contract().MaxWaiting }, 3},

	"host-kubeconfig":            {"/k", func(p *parsed) any { return p.container.hostKubeconfig }, "/k"},
	"host-namespace":             {"pods", func(p *parsed) any { return p.container.namespace }, "pods"},
	"sidecar-image":              {"a", (*parsed).sidecarImage, "a"},
	"sidecar-pull-policy":        {"Never", func(p *parsed) any { return p.container.sidecarPullPolicy }, "Never"},
	"default-image":              {"a", func(p *parsed) any { return p.container.defaultImage }, "a"},
	"keep-pods":                  {"true", func(p *parsed) any { return p.container.keepPods }, true},
	"max-state-size":             {"3", func(p *parsed) any { return p.container.maxState }, int64(3)},
	"max-shared-size":            {"3", func(p *parsed) any { return p.container.maxShared }, int64(3)},
	"max-stored-per-namespace":   {"3", func(p *parsed) any { return p.container.maxStored }, int64(3)},
	"max-pods-per-namespace":     {"3", func(p *parsed) any { return p.container.maxPods }, 3},
	"garbage-collection-period":  {"7s", func(p *parsed) any { return p.container.garbagePeriod }, 7 * second},
	"disable-garbage-collection": {"true", func(p *parsed) any { return p.container.noGarbage }, true},

	"deployer-management":           {"true", func(p *parsed) any { return p.controller.management.enabled }, true},
	"deployer-management-namespace": {"n", func(p *parsed) any { return p.controller.management.namespace }, "n"},
	"shared-environments":           {"true", func(p *parsed) any { return p.controller.management.share }, true},
	"pickup-timeout":                {"1s", func(p *parsed) any { return p.controller.pickupTimeout }, second},
	"require-verified-sources":      {"true", func(p *parsed) any { return p.process.sourcePolicy().RequireVerified }, true},
	"no-private-networks": {"true", func(p *parsed) any {
		switch {
		case p.agent != nil:
			return p.agent.publicOnly
		case p.relay != nil:
			return p.relay.publicOnly
		case p.deployer != nil:
			return p.deployer.targets.publicOnly
		}
		return p.controller.targets.publicOnly
	}, true},
	"signature-verification-enforcement-policy": {"Enforce", func(p *parsed) any {
		policy, err := p.controller.components.policy()
		require.NoError(p.t, err)
		return string(policy)
	}, "Enforce"},
	"default-repository-context": {"{type: a}", func(p *parsed) any {
		repository, err := p.controller.contexts.parse()
		require.NoError(p.t, err)
		return repository != nil
	}, true},
	"default-blueprint-access": {"imports", func(p *parsed) any {
		access, err := p.controller.contexts.blueprintAccess()
		require.NoError(p.t, err)
		return string(access)
	}, "imports"},
	"default-context-excluded-namespaces": {"a,b", func(p *parsed) any { return len(p.controller.contexts.excluded) }, 2},
	"health-check":                        {"a", func(p *parsed) any { return p.controller.health.name }, "a"},
	"health-check-deployments":            {"a,b", func(p *parsed) any { return p.controller.health.deployments }, []string{"a", "b"}},
	"health-check-interval":               {"1s", func(p *parsed) any { return p.controller.health.interval }, second},

	"kubeconfig":           {"/k", func(p *parsed) any { return p.process.kubeconfig }, "/k"},
	"port":                 {"3", func(p *parsed) any { return p.webhooks.port }, 3},
	"disable-webhooks":     {"targets", func(p *parsed) any { return len(p.webhooks.disabled) }, 1},
	"webhook-service":      {"a/b", func(p *parsed) any { return p.webhooks.service }, "a/b"},
	"webhook-service-port": {"3", func(p *parsed) any { return p.webhooks.servicePort }, int32(3)},
	"webhook-url":          {"https://u", func(p *parsed) any { return p.webhooks.url }, "https://u"},
	"cert-ns":              {"a", func(p *parsed) any { return p.webhooks.namespace }, "a"},
	"certificate-lifetime": {"1s", func(p *parsed) any { return p.webhooks.lifetime }, second},
}

func (p *parsed) sidecarImage() any {
	if p.container.sidecarImage == "" {
		return "" // that of the own Pod
	}
	found, err := p.container.sidecar(nil)
	require.NoError(p.t, err)
	return found.Image
}

func (p *parsed) anyShard() any { return p.shard() }

func (p *parsed) jitter() any {
	if p.deployer != nil {
		return p.contract().JitterPercentage
	}
	return p.process.jitter.Percentage
}

func (p *parsed) minRetryDelay() any {
	if p.deployer != nil {
		return p.contract().MinRetryDelay
	}
	return p.process.rate.MinRetryDelay
}

func (p *parsed) maxRetryDelay() any {
	if p.deployer != nil {
		return p.contract().MaxRetryDelay
	}
	return p.process.rate.MaxRetryDelay
}

const someKubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: https://127.0.0.1:1}}], users: [{name: u, user: {token: t}}]}`

// connection returns how the process connects to the cluster with the landscaper objects.
func (p *parsed) connection() struct {
	QPS   float32
	Burst int
} {
	path := filepath.Join(p.t.TempDir(), "kubeconfig")
	require.NoError(p.t, os.WriteFile(path, []byte(someKubeconfig), 0o600))
	p.process.kubeconfig = path
	config, err := p.process.restConfig()
	require.NoError(p.t, err)
	return struct {
		QPS   float32
		Burst int
	}{config.QPS, config.Burst}
}

func TestD21EveryFlagHasAnEffect(t *testing.T) {
	seen := map[string]bool{}
	for _, command := range []string{"controller", "webhooks", "manifest", "mock", "helm", "container", "relay", "agent"} {
		_, flags := parse(t, command)
		flags.VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "help" {
				return
			}
			t.Run(command+" --"+flag.Name, func(t *testing.T) {
				expected, known := effects[flag.Name]
				require.True(t, known, "say in effects what the flag changes, or remove it")
				seen[flag.Name] = true
				unset, _ := parse(t, command)
				assert.NotEqual(t, expected.want, expected.of(unset), "the value of the test has to differ from the default")
				set, _ := parse(t, command, "--"+flag.Name+"="+expected.value)
				assert.True(t, reflect.DeepEqual(expected.want, expected.of(set)), "%v", expected.of(set))
			})
		})
	}
	for name := range effects {
		assert.True(t, seen[name], "no sub-command has --%s", name)
	}
}

func TestD21DeployersHaveNoFlagsWithoutEffect(t *testing.T) {
	for _, command := range []string{"manifest", "mock", "helm"} {
		_, flags := parse(t, command)
		assert.Nil(t, flags.Lookup("watch-configs-label-selector"), command)
	}
	_, flags := parse(t, "manifest")
	assert.Nil(t, flags.Lookup("no-cross-namespace-refs"), "manifests refer to no source")
	_, flags = parse(t, "helm")
	assert.Equal(t, "true", flags.Lookup("no-cross-namespace-refs").DefValue)
}

func TestD14ShardsOfADeployerAreToldApart(t *testing.T) {
	plain, _ := parse(t, "manifest")
	assert.Equal(t, "manifest-deployer", plain.contract().Identity)
	one, _ := parse(t, "manifest", "--watch-label-selector=sharding.fluxcd.io/key=1")
	two, _ := parse(t, "manifest", "--watch-label-selector=sharding.fluxcd.io/key=2")
	assert.NotEqual(t, one.contract().Identity, two.contract().Identity)
	assert.NotEqual(t, one.manager().LeaderElectionID, two.manager().LeaderElectionID)
	assert.NotEqual(t, one.contract().Identity, plain.contract().Identity)
}

func TestD20LeaseIsInTheClusterOfTheProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own")
	require.NoError(t, os.WriteFile(path, []byte(someKubeconfig), 0o600))
	t.Setenv("KUBECONFIG", path)
	for name, c := range map[string]struct {
		args []string
		own  bool
	}{
		"no election":                      {[]string{"--landscaper-kubeconfig=/central"}, false},
		"own cluster has the objects":      {[]string{"--enable-leader-election"}, false},
		"objects are in a central cluster": {[]string{"--enable-leader-election", "--landscaper-kubeconfig=/central"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := parse(t, "manifest", c.args...)
			home, err := p.process.home()
			require.NoError(t, err)
			if !c.own {
				assert.Nil(t, home, "the connection of the manager")
				return
			}
			assert.Equal(t, "https://127.0.0.1:1", home.Host)
		})
	}
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "missing"))
	p, _ := parse(t, "manifest", "--enable-leader-election", "--landscaper-kubeconfig=/central")
	_, err := p.process.home()
	assert.ErrorContains(t, err, "KUBECONFIG")
}

func TestTargetSelectorsOnTheCommandLine(t *testing.T) {
	for name, c := range map[string]struct {
		text, problem string
	}{
		"labels":        {`{labels: [{key: environment, operator: in, values: [dev, test]}]}`, ""},
		"JSON":          {`{"targets":[{"name":"a"}]}`, ""},
		"empty":         {`{}`, "selects every Target"},
		"no YAML":       {`{`, "--target-selector"},
		"unknown field": {`{label: []}`, "label"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseSelectors([]string{c.text})
			if c.problem == "" {
				require.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.problem)
		})
	}
}

func TestLimitsOfChildrenThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct{ argument, problem string }{
		"no process":        {"--render-processes=0", "--render-processes is 0"},
		"too little memory": {"--render-process-memory=1000", "--render-process-memory is 1000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := parse(t, "controller", c.argument)
			assert.ErrorContains(t, p.controller.run(t.Context()), c.problem)
		})
	}
}

func TestLimitsOfContainersThatCannotBeUsed(t *testing.T) {
	for name, c := range map[string]struct{ argument, problem string }{
		"no Pod":           {"--max-pods-per-namespace=0", "--max-pods-per-namespace is 0; it has to be 1 at least"},
		"negative Pods":    {"--max-pods-per-namespace=-1", "--max-pods-per-namespace is -1; it has to be 1 at least"},
		"no storage":       {"--max-stored-per-namespace=0", "--max-stored-per-namespace is 0 bytes; it has to be 1 at least"},
		"negative storage": {"--max-stored-per-namespace=-1", "--max-stored-per-namespace is -1 bytes; it has to be 1 at least"},
	} {
		t.Run(name, func(t *testing.T) {
			own, flags := &containerFlags{}, pflag.NewFlagSet("container", pflag.ContinueOnError)
			own.bindFlags(flags)
			require.NoError(t, flags.Parse([]string{c.argument}))

			_, _, err := own.build(nil, &deployerFlags{})

			assert.EqualError(t, err, c.problem)
		})
	}
}

func TestCredentialsOfAnEnvironmentStayInItsCluster(t *testing.T) {
	own := &containerFlags{maxPods: 1, maxStored: 1, hostKubeconfig: "/elsewhere"}
	_, _, err := own.build(nil, &deployerFlags{environment: environmentFlags{name: "edge"}})
	assert.ErrorContains(t, err, "--host-kubeconfig: the Pods of a deployer with --environment run in its own cluster")
}

func TestM05OneFlagForPrivateNetworks(t *testing.T) {
	for _, command := range []string{"controller", "manifest", "mock", "helm", "agent"} {
		_, flags := parse(t, command)
		flag := flags.Lookup("no-private-networks")
		require.NotNil(t, flag, command)
		assert.Equal(t, "false", flag.DefValue, command)
		flags.VisitAll(func(other *pflag.Flag) {
			assert.False(t, other.Name != flag.Name && strings.Contains(other.Name, "private"), "--%s of %s", other.Name, command)
		})
	}
}

func TestTheHealthCheckNeedsItsDeploymentsAndItsNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace string
		flags     healthFlags
		says      string
	}{
		"none":           {"", healthFlags{interval: second}, ""},
		"both":           {"n", healthFlags{name: "a", deployments: []string{"b"}, interval: second}, ""},
		"no Deployments": {"n", healthFlags{name: "a", interval: second}, "give both"},
		"no name":        {"n", healthFlags{deployments: []string{"b"}, interval: second}, "give both"},
		"no namespace":   {"", healthFlags{name: "a", deployments: []string{"b"}, interval: second}, "RUNTIME_NAMESPACE"},
		"no interval":    {"n", healthFlags{name: "a", deployments: []string{"b"}}, "--health-check-interval"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("RUNTIME_NAMESPACE", tc.namespace)
			if err := tc.flags.check(); tc.says == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, tc.says)
			}
		})
	}
}
