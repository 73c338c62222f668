// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/runtime/features"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// registryFlags say how OCI registries are reached.
type registryFlags struct {
	oci.Options
	// configFiles are dockerconfigjson files.
	configFiles []string
}

func (r *registryFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&r.Mirrors, "oci-mirror", nil,
		"Ask another registry in place of a host, for example registry.example.com=http://127.0.0.1:5000. May be repeated.")
	flags.StringSliceVar(&r.PlainHTTP, "oci-plain-http", nil, "Registry hosts to reach without TLS; loopback hosts always are.")
	flags.StringArrayVar(&r.configFiles, "oci-config-file", nil,
		"A file like ~/.docker/config.json. Everybody whose own logins do not fit a registry pulls with its logins. It is read at the start. May be repeated.")
	flags.StringVar(&r.Dir, "oci-cache-dir", "",
		"The directory that caches content of OCI registries over restarts; it belongs to this process alone. By default one in the temporary directory.")
	flags.Int64Var(&r.CacheBytes, "oci-cache-size", 1024*mebibyte, "The bytes on disk that unused content of OCI registries may take.")
}

func (r *registryFlags) open(publicOnly bool) (*oci.Client, error) {
	options, err := r.options(publicOnly)
	if err != nil {
		return nil, err
	}
	registries, err := oci.New(options)
	if err != nil {
		return nil, fmt.Errorf("--oci-mirror or --oci-cache-dir: %w", err)
	}
	return registries, nil
}

// options is what the flags say about registries.
func (r registryFlags) options(publicOnly bool) (oci.Options, error) {
	var err error
	r.PublicOnly = publicOnly
	r.Logins, err = r.logins()
	return r.Options, err
}

// maxLoginFile is the size of the largest dockerconfigjson file, in bytes: that of a Secret.
const maxLoginFile = 1 << 20

// logins reads the dockerconfigjson files.
func (r *registryFlags) logins() (oci.Credentials, error) {
	var all []oci.Credentials
	for _, path := range r.configFiles {
		raw, err := readFile(path, maxLoginFile)
		if err != nil {
			return oci.Credentials{}, fmt.Errorf("--oci-config-file: %w", err)
		}
		found, err := oci.ParseDockerConfig(raw)
		if err != nil {
			return oci.Credentials{}, fmt.Errorf("--oci-config-file %s: %w", path, err)
		}
		all = append(all, found)
	}
	return oci.Join(all...), nil
}

// artifactFlags say how artifacts of Flux sources are kept.
type artifactFlags struct{ fetch.Options }

// storageOfFlux are the Services of Flux that hand out artifacts, where it is installed in the usual namespace.
var storageOfFlux = []string{"source-controller.flux-system.svc.cluster.local", "source-watcher.flux-system.svc.cluster.local"}

const mebibyte = 1 << 20

func (a *artifactFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.Dir, "artifact-dir", "",
		"The directory that caches artifacts of Flux sources; it belongs to this process alone. By default one in the temporary directory.")
	flags.IntVar(&a.Retries, "http-retry", 9, "The maximum number of retries when failing to fetch artifacts over HTTP.")
	flags.Int64Var(&a.CacheBytes, "artifact-cache-size", 1024*mebibyte, "The bytes on disk that unused artifacts may take.")
	flags.Int64Var(&a.MaxDownload, "artifact-max-download", 64*mebibyte, "The largest download of an artifact, in bytes.")
	flags.Int64Var(&a.MaxExtracted, "artifact-max-extracted", 256*mebibyte, "The largest extracted artifact, in bytes.")
	flags.StringSliceVar(&a.Storage, "artifact-hosts", storageOfFlux,
		"Hosts, or host:port, of the servers from which Flux hands out artifacts. With --no-private-networks they are the only private ones that artifacts come from.")
}

// open returns the store, which reaches private networks as publicOnly and the flags say.
func (a *artifactFlags) open(publicOnly bool) (*fetch.Store, error) {
	store, err := fetch.New(a.options(publicOnly))
	if err != nil {
		return nil, fmt.Errorf("--artifact-dir: %w", err)
	}
	return store, nil
}

// options is what the flags say about artifacts.
func (a artifactFlags) options(publicOnly bool) fetch.Options {
	a.PublicOnly, a.HostOverwrite = publicOnly, os.Getenv("SOURCE_CONTROLLER_LOCALHOST")
	return a.Options
}

// accessFlags say where the content of DeployItems comes from.
type accessFlags struct {
	artifacts  artifactFlags
	registries registryFlags
	identities identityFlags
	localRoot  string
}

func (a *accessFlags) bindFlags(flags *pflag.FlagSet) {
	a.artifacts.bindFlags(flags)
	a.registries.bindFlags(flags)
	a.identities.bindFlags(flags)
	bindLocalRoot(flags, &a.localRoot)
}

func bindLocalRoot(flags *pflag.FlagSet, dir *string) {
	flags.StringVar(dir, "local-repository-dir", "",
		"The directory below which component repositories of types local, CommonTransportFormat and ComponentArchive lie; empty refuses them.")
}

// open returns what DeployItems may use, and the function that closes it. Live reads from the landscaper cluster without a cache; account is that of
// identityFlags.openFor.
func (a *accessFlags) open(
	mgr ctrl.Manager, live client.Reader, policy flux.Policy, account string, publicOnly bool,
) (components.Access, func(), error) {
	identities, err := a.identities.openFor(mgr, account)
	if err != nil {
		return components.Access{}, nil, err
	}
	registries, err := a.registries.open(publicOnly)
	if err != nil {
		return components.Access{}, nil, err
	}
	store, err := a.artifacts.open(publicOnly)
	if err != nil {
		_ = registries.Close()
		return components.Access{}, nil, err
	}
	return components.Access{
		Registries: registries, Artifacts: store, Sources: live, Live: live, Identities: identities.Find, SourcePolicy: policy,
		LocalRoot: a.localRoot, PublicOnly: publicOnly,
	}, func() { _, _ = store.Close(), registries.Close() }, nil
}

// openFor is open for a deployer, which may wait for sources.
func (a *accessFlags) openFor(mgr ctrl.Manager, flags *deployerFlags) (components.Access, func(), error) {
	landscaper, err := contract.LandscaperCluster(mgr)
	if err != nil {
		return components.Access{}, nil, err
	}
	access, closeAll, err := a.open(mgr, mgr.GetAPIReader(), flags.sourcePolicy(), flags.targets.Accounts.Self, flags.targets.PublicOnly)
	access.Landscaper = landscaper
	return access, closeAll, err
}

// componentFlags say where components may come from and how they are verified.
type componentFlags struct {
	registries registryFlags
	identities identityFlags
	signatures string
	localRoot  string
}

func (c *componentFlags) bindFlags(flags *pflag.FlagSet) {
	c.registries.bindFlags(flags)
	c.identities.bindFlags(flags)
	c.identities.bindDefault(flags)
	flags.StringVar(&c.signatures, "signature-verification-enforcement-policy", string(inputs.DoNotEnforce),
		"Which components need a verified signature: "+strings.Join(inputs.SignaturePolicies, ", ")+
			". DoNotEnforce verifies those of Installations with spec.verification.")
	bindLocalRoot(flags, &c.localRoot)
}

// policy returns the policy for signatures.
func (c *componentFlags) policy() (inputs.SignaturePolicy, error) {
	if !slices.Contains(inputs.SignaturePolicies, c.signatures) {
		return "", fmt.Errorf("--signature-verification-enforcement-policy: %q is none of %s", c.signatures,
			strings.Join(inputs.SignaturePolicies, ", "))
	}
	return inputs.SignaturePolicy(c.signatures), nil
}

// open returns the repositories of components.
func (c *componentFlags) open(mgr ctrl.Manager, client *oci.Client, store *fetch.Store, identities *oci.Identities, policy flux.Policy, publicOnly bool) (*repository.Repositories, error) {
	repositories, err := repository.New(repository.Options{
		OCI: client, Store: store, LocalRoot: c.localRoot, PublicOnly: publicOnly,
		Source: flux.Finder(mgr.GetClient(), policy), Secret: repository.SecretReader(mgr.GetAPIReader()),
		PullSecrets: repository.AccountReader(mgr.GetAPIReader()), Identity: identities.Find,
	})
	if err != nil {
		return nil, fmt.Errorf("--local-repository-dir: %w", err)
	}
	return repositories, nil
}

// identityFlags say which identities of clouds may log in at registries. Names are those of Flux controllers where these have the flag.
type identityFlags struct {
	gates features.FeatureGates
	oci.IdentityOptions
}

func (i *identityFlags) bindFlags(flags *pflag.FlagSet) {
	i.gates.BindFlags(flags)
	flags.BoolVar(&i.OwnIdentity, "registry-controller-identity", false,
		"Let everybody who names a cloud but no ServiceAccount log in at its registries with the identity of this process.")
}

// bindDefault binds the flag of a process where it says nothing else; see targetFlags.bindSelfFlag.
func (i *identityFlags) bindDefault(flags *pflag.FlagSet) {
	flags.StringVar(&i.DefaultServiceAccount, auth.ControllerFlagDefaultServiceAccount, "",
		"The ServiceAccount, in the namespace of the object, that logs in at registries of clouds where the object names none. Needs the feature gate.")
}

var errNoGate = errors.New("--" + auth.ControllerFlagDefaultServiceAccount + " needs --feature-gates=" +
	auth.FeatureGateObjectLevelWorkloadIdentity + "=true")

// isOpen reports whether ServiceAccounts may log in.
func (i *identityFlags) isOpen() (bool, error) {
	supported := map[string]bool{}
	auth.SetFeatureGates(supported)
	if err := i.gates.SupportedFeatures(supported); err != nil {
		return false, fmt.Errorf("--feature-gates: %w", err)
	}
	return supported[auth.FeatureGateObjectLevelWorkloadIdentity], nil
}

// openFor is open for a process whose default ServiceAccount stands for more than logins, so that it needs no gate.
func (i *identityFlags) openFor(mgr ctrl.Manager, account string) (*oci.Identities, error) {
	isOpen, err := i.isOpen()
	if err != nil {
		return nil, err
	}
	if isOpen {
		i.DefaultServiceAccount = account
	}
	return i.open(mgr)
}

// open returns the identities, and the gate of the library as the flags say.
func (i *identityFlags) open(mgr ctrl.Manager) (*oci.Identities, error) {
	isOpen, err := i.isOpen()
	switch {
	case err != nil:
		return nil, err
	case isOpen:
		auth.EnableObjectLevelWorkloadIdentity()
	case i.DefaultServiceAccount != "":
		return nil, errNoGate
	}
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	options := i.IdentityOptions
	options.Client = live
	return oci.NewIdentities(options)
}

// targetFlags say how servers are reached that tenants name. Names are those of Flux controllers where these have the flag.
type targetFlags struct {
	// Options.PublicOnly holds for clusters and for everything that is downloaded.
	target.Options
}

func (t *targetFlags) bindFlags(flags *pflag.FlagSet) {
	bindPublicOnly(flags, &t.PublicOnly)
	flags.StringVar(&t.Accounts.Kubeconfig, kubeconfigAccountFlag, "",
		"The ServiceAccount, in the namespace of the Target, that is impersonated on clusters reached by kubeconfig or oidcConfig where neither DeployItem nor Target names one.")
}

// bindPublicOnly binds the one flag for private addresses. It has the same default and the same meaning in every process.
func bindPublicOnly(flags *pflag.FlagSet, publicOnly *bool) {
	flags.BoolVar(publicOnly, "no-private-networks", false,
		"Reach what tenants name only at public addresses: clusters of Targets, except the own one, OCI, Git, Helm and web servers, and "+
			"artifacts, except those of --artifact-hosts. Names and redirects count as what they resolve to. Metadata services of clouds are refused in any case.")
}

// bindSelfFlag binds the flag for Targets that lead to the landscaper cluster.
func (t *targetFlags) bindSelfFlag(flags *pflag.FlagSet) {
	flags.StringVar(&t.Accounts.Self, auth.ControllerFlagDefaultServiceAccount, "",
		"The ServiceAccount, in the namespace of the object, that stands for one that nobody names: in Targets with selfConfig, and, "+
			"with the feature gate ObjectLevelWorkloadIdentity, at registries of clouds.")
}

const kubeconfigAccountFlag = "default-kubeconfig-service-account"

// check returns what is wrong with the flags.
func (t *targetFlags) check() error {
	for flag, name := range map[string]string{kubeconfigAccountFlag: t.Accounts.Kubeconfig, auth.ControllerFlagDefaultServiceAccount: t.Accounts.Self} {
		if name != "" && !validation.IsServiceAccountName(name) {
			return fmt.Errorf("--%s: %q is not a valid name of a ServiceAccount; give the name alone: it is one of the namespace of each Target", flag, name)
		}
	}
	return nil
}

// childFlags limit the child processes that render.
type childFlags struct{ confined.Limits }

// wholeMemory is what GOMEMLIMIT says, as much as there can be where it says nothing.
var wholeMemory = debug.SetMemoryLimit(-1)

// ownMemory is what this process has in any case, in bytes, however little its children leave.
const ownMemory = 256 * mebibyte

// keepRoom has the garbage collector of this process go by what children leave of the memory of the container.
func keepRoom(children confined.Limits) {
	if wholeMemory < math.MaxInt64 {
		debug.SetMemoryLimit(max(wholeMemory-children.Most(), ownMemory))
	}
}

// minChildMemory is less than what a child needs for anything useful.
const minChildMemory = 32 * mebibyte

func (c *childFlags) bindFlags(flags *pflag.FlagSet, memory int64) {
	flags.IntVar(&c.Children, "render-processes", confined.DefaultLimits().Children,
		"The number of child processes that render; a namespace has at most half of them.")
	flags.Int64Var(&c.Memory, "render-process-memory", memory, "The memory that a child process may take to render, in bytes.")
}

// limits returns an error that names the flag that cannot be used.
func (c *childFlags) limits() (confined.Limits, error) {
	switch {
	case c.Children < 1:
		return confined.Limits{}, fmt.Errorf("--render-processes is %d; it has to be 1 at least", c.Children)
	case c.Memory < minChildMemory:
		return confined.Limits{}, fmt.Errorf("--render-process-memory is %d bytes; it has to be %d at least", c.Memory, minChildMemory)
	}
	return c.Limits, nil
}
