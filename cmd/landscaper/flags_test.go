// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/flux-landscaper/flux-landscaper/agent"
	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/controllers/webhooks"
	"github.com/flux-landscaper/flux-landscaper/deployers/container"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// parsed is what the flags of one sub-command set. Parts that the sub-command does not have are nil.
type parsed struct {
	t          *testing.T
	flags      *pflag.FlagSet
	process    *process
	controller *controllerFlags
	deployer   *deployerFlags
	helm       *helmFlags
	webhooks   *webhooksFlags
	ui         *uiFlags
	agent      *agentFlags
	container  *containerFlags
}

// parse parses arguments for a sub-command, and returns its flags, too.
func parse(t *testing.T, name string, args ...string) (*parsed, *pflag.FlagSet) {
	t.Helper()
	p, command := &parsed{t: t}, (*cobra.Command)(nil)
	defer func() { p.flags = command.Flags() }()
	switch name {
	case "controller":
		command, p.controller = controllerOf()
		p.process = &p.controller.process
	case "webhooks":
		command, p.webhooks = webhooksOf()
		p.process = &p.webhooks.process
	case "ui":
		command, p.ui = uiOf()
		p.process = &p.ui.process
	case "agent":
		command, p.agent = agentOf()
		p.process, p.helm = &p.agent.process, &p.agent.helm
	case "helm":
		command, p.deployer, p.helm = helmCommand()
		p.process = &p.deployer.process
	case "container":
		command, p.deployer, p.container = containerOf()
		p.process = &p.deployer.process
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

// access returns what the flags say about the content of DeployItems, and whether it comes from public addresses only. The controller has the flags
// in other groups.
func (p *parsed) access() (*accessFlags, bool) {
	switch {
	case p.agent != nil:
		return &p.agent.helm.accessFlags, p.agent.publicOnly
	case p.helm != nil:
		return &p.helm.accessFlags, p.deployer.targets.PublicOnly
	case p.container != nil:
		return &p.container.accessFlags, p.deployer.targets.PublicOnly
	}
	own := &p.controller.components
	return &accessFlags{artifacts: p.controller.artifacts, registries: own.registries, identities: own.identities, localRoot: own.localRoot},
		p.controller.targets.PublicOnly
}

func (p *parsed) artifacts() fetch.Options {
	access, publicOnly := p.access()
	return access.artifacts.options(publicOnly)
}

func (p *parsed) oci() oci.Options {
	access, publicOnly := p.access()
	options, err := access.registries.options(publicOnly)
	require.NoError(p.t, err)
	return options
}

func (p *parsed) registries() *registryFlags {
	access, _ := p.access()
	return &access.registries
}

func (p *parsed) identities() *identityFlags {
	access, _ := p.access()
	return &access.identities
}

// targets returns how Targets are opened.
func (p *parsed) targets() target.Options {
	if p.deployer != nil {
		return p.deployer.targets.Options
	}
	return p.controller.targets.Options
}

// isPublicOnly reports whether all that strangers name is reached at public addresses alone. Not every process fetches something.
func (p *parsed) isPublicOnly() any {
	if p.agent == nil && !p.targets().PublicOnly {
		return false
	}
	if p.deployer != nil && p.helm == nil && p.container == nil {
		return true
	}
	return p.artifacts().PublicOnly && p.oci().PublicOnly
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

// effect is a value of a flag and what it has to become in the options of a part of the process. Tests are those that show another behaviour of
// the part for another value of the option: as directory: name, separated by commas.
type effect struct {
	value string
	of    func(*parsed) any
	want  any
	tests string
}

const second = time.Second

// effects has every flag of every sub-command. Whoever adds a flag says here which option it sets, and which test shows what the option changes.
var effects = map[string]effect{
	"metrics-addr": {":1", func(p *parsed) any { return p.manager().Metrics.BindAddress }, ":1",
		"tests/behaviour: TestLeaderElectionAndEndpoints"},
	"health-addr": {":1", func(p *parsed) any { return p.manager().HealthProbeBindAddress }, ":1",
		"tests/behaviour: TestLeaderElectionAndEndpoints"},
	"graceful-shutdown-timeout": {"1s", func(p *parsed) any { return *p.manager().GracefulShutdownTimeout }, second,
		"cmd/landscaper: TestWhatDoesNotEndIsLeftAfterTheGrace"},
	"concurrent": {"3", func(p *parsed) any { return p.manager().Controller.MaxConcurrentReconciles }, 3,
		"deployers/queue: TestWhoGetsTheWorkers"},
	"enable-leader-election": {"true", func(p *parsed) any { return p.manager().LeaderElection }, true,
		"tests/behaviour: TestLeaderElectionAndEndpoints"},
	"leader-election-lease-duration": {"1s", func(p *parsed) any { return *p.manager().LeaseDuration }, second,
		"cmd/landscaper: TestTheLeaseIsHeldAsTheFlagsSay"},
	"leader-election-renew-deadline": {"1s", func(p *parsed) any { return *p.manager().RenewDeadline }, second,
		"cmd/landscaper: TestALeaderThatCannotRenewEnds"},
	"leader-election-retry-period": {"1s", func(p *parsed) any { return *p.manager().RetryPeriod }, second,
		"cmd/landscaper: TestTheLeaseOfAnotherIsLookedAtEachPeriod"},
	"leader-election-release-on-cancel": {"false", func(p *parsed) any { return p.manager().LeaderElectionReleaseOnCancel }, false,
		"cmd/landscaper: TestTheLeaseIsHeldAsTheFlagsSay"},
	"watch-all-namespaces": {"false", func(p *parsed) any { return len(p.manager().Cache.DefaultNamespaces) }, 1,
		"cmd/landscaper: TestOnlyWatchedNamespacesAreAskedFor"},
	"cache-sync-timeout": {"1s", func(p *parsed) any { return p.manager().Controller.CacheSyncTimeout }, second,
		"cmd/landscaper: TestCachesThatDoNotFillEndTheProcess"},
	"watch-label-selector": {"a=b", (*parsed).anyShard, "a=b",
		"tests/dataflow: TestE09AnInstallationMovesBetweenShards"},
	"refuse-unknown-keys": {"true", func(p *parsed) any { return p.process.strict }, true,
		"deployers/contract: TestUnknownKeysOfConfigurations, controllers/installation: TestUnknownKeysOfBlueprints"},
	"events-addr": {"http://e", (*parsed).receiver, "http://e",
		"deployers/notify: TestT10EventsReachTheReceiver"},
	"landscaper-kubeconfig": {"testdata/kubeconfig", (*parsed).server, "https://landscaper.example.com",
		"cmd/landscaper: TestRequestsGoWhereTheKubeconfigLeads"},
	"kube-api-qps": {"7", func(p *parsed) any { return p.connection().QPS }, float32(7),
		"cmd/landscaper: TestRequestsOfAProcessAreLimited"},
	"kube-api-burst": {"7", func(p *parsed) any { return p.connection().Burst }, 7,
		"cmd/landscaper: TestRequestsOfAProcessAreLimited"},
	"log-level": {"trace", func(p *parsed) any { return p.process.logging.LogLevel }, "trace",
		"cmd/landscaper: TestTheLogIsAsTheFlagsSay"},
	"log-encoding": {"console", func(p *parsed) any { return p.process.logging.LogEncoding }, "console",
		"cmd/landscaper: TestTheLogIsAsTheFlagsSay"},
	"min-retry-delay": {"1s", (*parsed).minRetryDelay, second,
		"deployers/queue: TestBackoffSpreadsObjects, deployers/contract: TestRetryDelaysAreThoseOfTheOptions"},
	"max-retry-delay": {"1ms", (*parsed).maxRetryDelay, time.Millisecond,
		"deployers/queue: TestDoubled, deployers/contract: TestRetryDelaysAreThoseOfTheOptions"},
	"interval-jitter-percentage": {"7", (*parsed).jitter, uint8(7),
		"deployers/queue: TestJitterStaysWithinItsPercentage"},
	"no-cross-namespace-refs": {"false", func(p *parsed) any { return p.process.sourcePolicy().NoCrossNamespaceRefs }, false,
		"sources/flux: TestLookupCrossesNamespacesWhereAllowed"},

	"artifact-dir": {"/a", func(p *parsed) any { return p.artifacts().Dir }, "/a",
		"sources/fetch: TestCacheSurvivesARestart"},
	"http-retry": {"3", func(p *parsed) any { return p.artifacts().Retries }, 3,
		"sources/fetch: TestRetriesEnd"},
	"artifact-cache-size": {"3", func(p *parsed) any { return p.artifacts().CacheBytes }, int64(3),
		"sources/fetch: TestEvictionTakesTheLeastRecentlyUsed"},
	"artifact-max-download": {"3", func(p *parsed) any { return p.artifacts().MaxDownload }, int64(3),
		"sources/fetch: TestDownloadLimit"},
	"artifact-hosts": {"a,b:1", func(p *parsed) any { return p.artifacts().Storage }, []string{"a", "b:1"},
		"sources/fetch: TestStorageOfTheOperatorMayBePrivate"},
	"artifact-max-extracted": {"3", func(p *parsed) any { return p.artifacts().MaxExtracted }, int64(3),
		"sources/fetch: TestOpenRefusesUnsafeArchives"},
	"render-processes": {"3", func(p *parsed) any { return p.children().Children }, 3,
		"confined: TestHostileOwnerHasHalfOfTheChildren"},
	"render-process-memory": {"67108864", func(p *parsed) any { return p.children().Memory }, int64(64 << 20),
		"confined: TestBombsEndTheirOwnJobOnly"},
	"oci-mirror": {"a=b", func(p *parsed) any { return p.oci().Mirrors["a"] }, "b",
		"sources/oci: TestMirrorStandsInForAHost"},
	"oci-plain-http": {"a,b", func(p *parsed) any { return p.oci().PlainHTTP }, []string{"a", "b"},
		"sources/oci: TestPlainHTTPHosts"},
	"oci-config-file": {"testdata/logins.json", func(p *parsed) any { return reflect.DeepEqual(p.oci().Logins, oci.Join()) }, false,
		"sources/oci: TestLoginsOfTheOperator"},
	"oci-cache-dir": {"/o", func(p *parsed) any { return p.oci().Dir }, "/o",
		"sources/oci: TestARestartCausesNoDownload"},
	"oci-cache-size": {"3", func(p *parsed) any { return p.oci().CacheBytes }, int64(3),
		"sources/oci: TestContentLargerThanTheCache"},
	"feature-gates": {"ObjectLevelWorkloadIdentity=true", func(p *parsed) any {
		supported := map[string]bool{"ObjectLevelWorkloadIdentity": false}
		require.NoError(p.t, p.identities().gates.SupportedFeatures(supported))
		return supported["ObjectLevelWorkloadIdentity"]
	}, true,
		"tests/e2e/identities: TestComponentsOfARegistryOfAWS"},
	"default-service-account": {"a", func(p *parsed) any {
		if p.deployer != nil {
			return p.targets().Accounts.Self
		}
		return p.identities().DefaultServiceAccount
	}, "a",
		"deployers/target: TestActorGoesBeforeTargetAndTargetBeforeDefault, sources/oci: TestDefaultServiceAccountWinsOverTheOwnIdentity"},
	"default-kubeconfig-service-account": {"a", func(p *parsed) any { return p.targets().Accounts.Kubeconfig }, "a",
		"deployers/target: TestActorGoesBeforeTargetAndTargetBeforeDefault"},
	"registry-controller-identity": {"true", func(p *parsed) any { return p.identities().OwnIdentity }, true,
		"sources/oci: TestOwnIdentityWhereTheOperatorLetsEverybody"},
	"local-repository-dir": {"/l", (*parsed).localRoot, "/l",
		"sources/repository: TestLocalRepositories"},

	"config": {"testdata/configuration.yaml", (*parsed).configuredName, "mine",
		"cmd/landscaper: TestConfigurationFile, agent: TestConfigurationOfTheFormerAgentIsRead"},
	"instance": {"a", func(p *parsed) any { return p.agent.ownInstance() }, "a",
		"tests/e2e/agent: TestOfTwoAgentsOnlyTheOneThatHoldsTheEnvironmentWorks"},
	"bootstrap-kubeconfig": {"testdata/kubeconfig", (*parsed).server, "https://landscaper.example.com",
		"tests/e2e/agent: TestABootstrapTokenIsExchangedOnce"},
	"identity": {"a", func(p *parsed) any { return p.contract().Identity }, "a",
		"deployers/contract: TestD14JobOfAnotherDeployerIsLeftToIt"},
	"watch-namespaces": {"a,b", func(p *parsed) any { return slices.Sorted(maps.Keys(p.manager().Cache.DefaultNamespaces)) }, []string{"a", "b"},
		"cmd/landscaper: TestOnlyWatchedNamespacesAreAskedFor"},
	"target-selector": {"{targets: [{name: a}]}", func(p *parsed) any { return len(p.contract().TargetSelectors) }, 1,
		"deployers/contract: TestDeployerWithSelectorsServesItsTargetsOnly"},
	"environment": {"a", func(p *parsed) any {
		return len(p.contract().TargetSelectors) == 1 && p.contract().TargetsOnly && p.deployer.environment.name == "a"
	}, true,
		"deployers/contract: TestDeployerOfTargetsOnlyLeavesItemsWithoutTarget"},
	"environment-secrets-namespace": {"a", (*parsed).secretsNamespace, "a",
		"deployers/target: TestSecretsOfTheHostClusterAreForItsEnvironmentOnly"},
	"insecure-kubeconfig-tls": {"true", func(p *parsed) any { return p.targets().AllowInsecureTLS }, true,
		"deployers/target: TestInsecureTargetsAreOpenedWhereTheOperatorAllowsThem"},
	"legacy-target-tokens": {"true", func(p *parsed) any { return p.targets().LegacyTokens }, true,
		"deployers/target: TestT06TokensOfTheLandscaperClusterStayThere"},
	"min-continuous-interval": {"1s", func(p *parsed) any { return p.contract().MinContinuousInterval }, second,
		"deployers/contract: TestDue"},
	"max-deploy-item-timeout": {"1s", func(p *parsed) any { return p.contract().MaxTimeout }, second,
		"deployers/contract: TestT04OperatorsMaximumEndsAJobWithoutTimeout"},
	"helm-driver": {"configmap", func(p *parsed) any { return p.helmOptions().Driver }, "configmap",
		"deployers/helm/engine: TestDrivers"},

	"host-kubeconfig": {"testdata/kubeconfig", (*parsed).hostServer, "https://landscaper.example.com",
		"tests/e2e/fence: TestFromCommitsToWorkloadsBehindTheFence"},
	"host-namespace": {"pods", func(p *parsed) any { return p.pods().Namespace }, "pods",
		"deployers/container: TestThePodIsMadeAsTheOptionsSay"},
	"sidecar-image": {"a", func(p *parsed) any { return p.pods().Init.Image }, "a",
		"deployers/container: TestThePodIsMadeAsTheOptionsSay"},
	"sidecar-pull-policy": {"Never", func(p *parsed) any { return p.pods().Wait.ImagePullPolicy }, corev1.PullNever,
		"deployers/container: TestThePodIsMadeAsTheOptionsSay"},
	"default-image": {"a", func(p *parsed) any { return p.pods().Main.Image }, "a",
		"deployers/container: TestThePodIsMadeAsTheOptionsSay"},
	"keep-pods": {"true", func(p *parsed) any { return p.pods().KeepPods }, true,
		"deployers/container: TestKeptPodStaysUntilTheNextJob"},
	"max-state-size": {"3", func(p *parsed) any { return p.pods().MaxState }, int64(3),
		"deployers/container: TestWhatTheProgramLeavesIsNotTrusted"},
	"max-shared-size": {"3", func(p *parsed) any { return p.pods().MaxShared }, int64(3),
		"deployers/container: TestThePodIsMadeAsTheOptionsSay"},
	"max-stored-per-namespace": {"3", func(p *parsed) any { return p.pods().MaxStored }, int64(3),
		"deployers/container: TestWhatANamespaceStoresIsLimited"},
	"max-pods-per-namespace": {"3", func(p *parsed) any { return p.pods().MaxPods }, 3,
		"deployers/container: TestPodsOfANamespaceAreLimited"},
	"garbage-collection-period": {"7s", func(p *parsed) any { return p.pods().Garbage.RequeueTimeSeconds }, 7,
		"deployers/container: TestC27ContainerGarbageCollection"},
	"disable-garbage-collection": {"true", func(p *parsed) any { return p.pods().Garbage.Disable }, true,
		"deployers/container: TestDisabledGarbageCollectionEndsPodsOnly"},

	"deployer-management": {"true", func(p *parsed) any { return p.controller.deployItems(p.offline(), nil).Environments }, true,
		"tests/e2e/environments/processes: TestDeployersAreInstalledIntoEveryEnvironmentAndUninstalled"},
	"deployer-management-namespace": {"n", func(p *parsed) any { return p.controller.environments(p.offline(), nil).Homes.Shared }, "n",
		"tests/e2e/environments: TestAPairGetsAllThatItsDeployerNeeds"},
	"shared-environments": {"true", func(p *parsed) any { return p.controller.environments(p.offline(), nil).Share }, true,
		"tests/e2e/environments: TestAnEnvironmentHasNothingBeforeItsNamespace"},
	"pickup-timeout": {"1s", func(p *parsed) any { return p.controller.deployItems(p.offline(), nil).PickupTimeout }, second,
		"controllers/deployitem: TestAJobThatNobodyPicksUpFails"},
	"require-verified-sources": {"true", func(p *parsed) any { return p.process.sourcePolicy().RequireVerified }, true,
		"sources/flux: TestL06OperatorRequiresVerifiedSources"},
	"no-private-networks": {"true", (*parsed).isPublicOnly, true,
		"deployers/target: TestT05PrivateTargetsAreRefused, sources/oci: TestM05PrivateRegistriesAreRefusedWhereTheOperatorWants, sources/fetch: TestStorageOfTheOperatorMayBePrivate"},
	"signature-verification-enforcement-policy": {"Enforce", func(p *parsed) any {
		policy, err := p.controller.components.policy()
		require.NoError(p.t, err)
		return string(policy)
	}, "Enforce",
		"controllers/installation/inputs: TestSignaturePolicyAsksFor"},
	"default-repository-context": {"{type: a}", func(p *parsed) any {
		repository, err := p.controller.contexts.parse()
		require.NoError(p.t, err)
		return repository != nil
	}, true,
		"tests/engine: TestC13DefaultContext"},
	"default-blueprint-access": {"imports", func(p *parsed) any {
		access, err := p.controller.contexts.blueprintAccess()
		require.NoError(p.t, err)
		return string(access)
	}, "imports",
		"controllers/installation/inputs: TestT07OperatorDecidesWhereContextIsSilent"},
	"reconcile-if-changed": {"true", func(p *parsed) any { return p.controller.contexts.following.ByDefault }, true,
		"controllers/installation: TestTheNearestSaysWhetherChangesStartJobs"},
	"reconcile-if-changed-spread": {"1s", func(p *parsed) any { return p.controller.contexts.following.Spread }, second,
		"tests/dataflow: TestSwitchingTheDefaultOnSpreadsWhatHasWaited"},
	"default-context-excluded-namespaces": {"a,b", func(p *parsed) any {
		return p.controller.contexts.keeper(p.offline(), v1alpha1.AnyJSON{}, p.process).Excluded
	}, []string{"a", "b"},
		"tests/engine: TestC13DefaultContext"},
	"health-check": {"a", func(p *parsed) any { return p.controller.health.reconciler(nil, "", p.process).Check.Name }, "a",
		"tests/behaviour: TestC29TheHealthCheckFollowsTheDeployments"},
	"health-check-deployments": {"a,b", func(p *parsed) any { return p.controller.health.reconciler(nil, "", p.process).Deployments }, []string{"a", "b"},
		"tests/behaviour: TestC29TheHealthCheckFollowsTheDeployments"},
	"health-check-interval": {"1s", func(p *parsed) any { return p.controller.health.reconciler(nil, "", p.process).Interval }, second,
		"deployers/notify: TestAProblemHasToLast"},

	"kubeconfig": {"testdata/kubeconfig", (*parsed).server, "https://landscaper.example.com",
		"cmd/landscaper: TestRequestsGoWhereTheKubeconfigLeads"},
	"port": {"3", func(p *parsed) any {
		return webhooks.New(webhooks.Options{}).Server(p.webhooks.port).(*webhook.DefaultServer).Options.Port
	}, 3,
		"tests/admission: TestReplicasStartTogether"},
	"disable-webhooks": {"targets", func(p *parsed) any {
		kinds, err := webhooks.Enabled(p.webhooks.disabled)
		require.NoError(p.t, err)
		return len(kinds)
	}, 3,
		"tests/admission: TestAllDisabledRemovesTheRegistration"},
	"webhook-service": {"a/b", func(p *parsed) any { return p.called("", "").Endpoint }, endpoint("a/b", 9443, ""),
		"controllers/webhooks: TestEndpoints"},
	"webhook-service-port": {"3", func(p *parsed) any { return p.called("a/b", "").Endpoint }, endpoint("a/b", 3, ""),
		"controllers/webhooks: TestEndpoints"},
	"webhook-url": {"https://u", func(p *parsed) any { return p.called("", "").Endpoint }, endpoint("", 9443, "https://u"),
		"controllers/webhooks: TestEndpoints"},
	"cert-ns": {"a", func(p *parsed) any { return p.called("", "https://u").Namespace }, "a",
		"tests/admission: TestLostSecretIsMadeAnew"},
	"certificate-lifetime": {"40s", func(p *parsed) any { return p.called("", "https://u").Lifetime }, 40 * second,
		"tests/admission: TestE2ECertificatesAreRenewed"},

	"listen-addr": {"127.0.0.1:1", func(p *parsed) any { return p.ui.address }, "127.0.0.1:1",
		"tests/quality: TestThePageHasTheRightsOfItsOverlay"},
	"allowed-hosts": {"a,b", func(p *parsed) any { return p.ui.access.Hosts }, []string{"a", "b"},
		"landscape/page: TestOnlyTheProxyIsAnswered"},
	"tls-cert-file": {"testdata/tls.crt", (*parsed).unreadable, "--tls-cert-file and --tls-private-key-file: open testdata/tls.crt: no such file or directory",
		"tests/quality: TestThePageHasTheRightsOfItsOverlay"},
	"tls-private-key-file": {"testdata/tls.key", (*parsed).unreadable, "--tls-cert-file and --tls-private-key-file: open : no such file or directory",
		"tests/quality: TestThePageHasTheRightsOfItsOverlay"},
	"requestheader-client-ca-file": {"testdata/logins.json", (*parsed).unreadable, "--requestheader-client-ca-file: the file has no certificate in PEM",
		"landscape/page: TestOnlyTheProxyIsAnswered"},
	"requestheader-allowed-names": {"a,b", func(p *parsed) any { return p.ui.access.Names }, []string{"a", "b"},
		"landscape/page: TestOnlyTheProxyIsAnswered"},
	"requestheader-secret-file": {"testdata/logins.json", func(p *parsed) any {
		_, err := p.ui.readFiles()
		require.NoError(p.t, err)
		return p.ui.access.Secret != ""
	}, true,
		"landscape/page: TestOnlyTheProxyIsAnswered"},
	"requestheader-group-headers": {"a,b", func(p *parsed) any { return p.ui.access.GroupHeaders }, []string{"a", "b"},
		"landscape/page: TestTheProxySaysWhoLooks"},
	"requestheader-group-separator": {",", func(p *parsed) any { return p.ui.access.GroupSeparator }, ",",
		"landscape/page: TestTheProxySaysWhoLooks"},
	"everyone-sees-all": {"true", func(p *parsed) any { return p.ui.access.EveryoneSeesAll }, true,
		"landscape/page: TestThePageIsForNobodyByAccident"},
}

// localRoot returns below which directory component repositories are looked for.
func (p *parsed) localRoot() any {
	if p.controller != nil {
		return p.controller.components.localRoot
	}
	access, _ := p.access()
	opened, closeAll, err := access.open(p.offline(), nil, flux.Policy{}, "", false)
	require.NoError(p.t, err)
	defer closeAll()
	return opened.LocalRoot
}

// helmOptions returns how Helm is run.
func (p *parsed) helmOptions() helm.Options {
	options, err := p.helm.options()
	require.NoError(p.t, err)
	return options
}

// pods returns how containers are run. Without an image for the sidecar that of the own Pod is used, which there is none of here.
func (p *parsed) pods() container.Options {
	sidecar := containerv1alpha1.ContainerSpec{}
	if p.container.sidecarImage != "" || p.container.sidecarPullPolicy != string(corev1.PullIfNotPresent) {
		p.container.sidecarImage = cmp.Or(p.container.sidecarImage, "image")
		found, err := p.container.sidecar(nil)
		require.NoError(p.t, err)
		sidecar = found
	}
	return p.container.options(p.deployer, sidecar)
}

// hostServer returns the server of the cluster that runs the Pods.
func (p *parsed) hostServer() any {
	config, err := p.container.hostConfig(p.offline(), &deployerFlags{})
	require.NoError(p.t, err)
	return config.Host
}

// server returns the server with the landscaper objects. The cluster of the process itself is another one.
func (p *parsed) server() any {
	p.t.Setenv("KUBECONFIG", kubeconfigFor(p.t, "https://127.0.0.1:1"))
	if p.agent == nil {
		config, err := p.process.restConfig()
		require.NoError(p.t, err)
		return config.Host
	}
	link, err := p.agent.openLink()
	if err != nil {
		return err.Error()
	}
	return link.Config().Host
}

// receiver returns where events are posted.
func (p *parsed) receiver() any {
	shared := ctrlmetrics.Registry
	defer func() { ctrlmetrics.Registry = shared }()
	ctrlmetrics.Registry = prometheus.NewRegistry() // a process has one recorder
	recorder, err := p.process.recorder(p.offline())
	require.NoError(p.t, err)
	return recorder.Webhook
}

// configuredName returns the name that the configuration file gives to the process.
func (p *parsed) configuredName() any {
	if p.agent == nil {
		_, err := p.deployer.readFile(p.flags)
		require.NoError(p.t, err)
		return p.contract().Identity
	}
	config, err := p.agent.configuration()
	if err != nil {
		return err.Error()
	}
	return config.Name
}

// secretsNamespace returns where Targets of an Environment may name Secrets.
func (p *parsed) secretsNamespace() any {
	p.t.Setenv("KUBECONFIG", kubeconfigFor(p.t, "https://127.0.0.1:1"))
	p.deployer.environment.name = "edge"
	host, err := p.deployer.environment.host(p.process)
	if err != nil {
		return err.Error()
	}
	return host.Namespace
}

// unreadable returns why a file that a flag of the page names is of no use; empty where it is.
func (p *parsed) unreadable() any {
	_, err := p.ui.readFiles()
	if err != nil {
		return err.Error()
	}
	return ""
}

// called returns how the webhooks are called; service and url stand for flags that are not set. It is empty where no flag says how.
func (p *parsed) called(service, url string) webhooks.Options {
	p.t.Setenv("RUNTIME_NAMESPACE", "own")
	p.webhooks.service, p.webhooks.url = cmp.Or(p.webhooks.service, service), cmp.Or(p.webhooks.url, url)
	options, err := p.webhooks.options()
	if err != nil {
		return webhooks.Options{}
	}
	return options
}

// endpoint is where webhooks are called.
func endpoint(service string, port int32, url string) webhooks.Endpoint {
	parsed, err := webhooks.ParseEndpoint(service, port, url)
	if err != nil {
		panic(err)
	}
	return parsed
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
	return p.retryDelay()
}

// maxRetryDelay expects a largest delay that is shorter than the default of the shortest.
func (p *parsed) maxRetryDelay() any {
	if p.deployer != nil {
		return p.contract().MaxRetryDelay
	}
	return p.retryDelay()
}

// retryDelay returns the delay after the first failure of an object.
func (p *parsed) retryDelay() time.Duration {
	p.process.jitter.Percentage = 0
	return p.process.backoff().After(types.NamespacedName{Name: "a"}, errors.New("a problem"))
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
	for _, command := range []string{"controller", "webhooks", "ui", "manifest", "mock", "helm", "container", "agent"} {
		_, flags := parse(t, command)
		flags.VisitAll(func(flag *pflag.Flag) {
			if flag.Name == "help" {
				return
			}
			t.Run(command+" --"+flag.Name, func(t *testing.T) {
				expected, known := effects[flag.Name]
				require.True(t, known, "say in effects what the flag changes, or remove it")
				seen[flag.Name] = true
				requireTests(t, expected.tests)
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

// requireTests fails where one of the tests does not exist, or none is named.
func requireTests(t *testing.T, names string) {
	t.Helper()
	for _, name := range strings.Split(names, ", ") {
		dir, test, isNamed := strings.Cut(name, ": ")
		require.True(t, isNamed, "name the tests of the option as directory: name, not %q", names)
		assert.Contains(t, testsIn(t, filepath.Join("..", "..", dir)), test, "%s has no such test", dir)
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

func TestDeployersOfSeveralEnvironmentsLeadBesideEachOther(t *testing.T) {
	leaseOf := func(args ...string) string {
		p, _ := parse(t, "mock", args...)
		options := p.manager()
		p.deployer.restrict(&options, labels.Everything())
		return options.LeaderElectionID
	}
	assert.Equal(t, "landscaper-mock-deployer-east", leaseOf("--environment=east"))
	assert.Equal(t, leaseOf("--watch-label-selector=a=b")+"-east", leaseOf("--watch-label-selector=a=b", "--environment=east"))
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
	own := &containerFlags{Options: container.Options{MaxPods: 1, MaxStored: 1}, hostKubeconfig: "/elsewhere"}
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
