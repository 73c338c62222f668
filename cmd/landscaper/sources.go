// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/auth"
	"github.com/fluxcd/pkg/runtime/features"
	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// registryFlags say how OCI registries are reached.
type registryFlags struct {
	mirrors   map[string]string
	plainHTTP []string
	// configFiles are dockerconfigjson files.
	configFiles []string
	dir         string
	bytes       int64
}

func (r *registryFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&r.mirrors, "oci-mirror", nil,
		"Ask another registry in place of a host, for example registry.example.com=http://127.0.0.1:5000. May be repeated.")
	flags.StringSliceVar(&r.plainHTTP, "oci-plain-http", nil, "Registry hosts to reach without TLS; loopback hosts always are.")
	flags.StringArrayVar(&r.configFiles, "oci-config-file", nil,
		"A file like ~/.docker/config.json. Everybody whose own logins do not fit a registry pulls with its logins. It is read at the start. May be repeated.")
	flags.StringVar(&r.dir, "oci-cache-dir", "",
		"The directory that caches content of OCI registries over restarts; it belongs to this process alone. By default one in the temporary directory.")
	flags.Int64Var(&r.bytes, "oci-cache-size", 1024*mebibyte, "The bytes on disk that unused content of OCI registries may take.")
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
func (r *registryFlags) options(publicOnly bool) (oci.Options, error) {
	logins, err := r.logins()
	return oci.Options{
		Dir: r.dir, CacheBytes: r.bytes, Mirrors: r.mirrors, PlainHTTP: r.plainHTTP, Logins: logins, PublicOnly: publicOnly,
	}, err
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
type artifactFlags struct {
	dir          string
	retries      int
	cacheBytes   int64
	maxExtracted int64
	maxDownload  int64
	hosts        []string
}

// storageOfFlux are the Services of Flux that hand out artifacts, where it is installed in the usual namespace.
var storageOfFlux = []string{"source-controller.flux-system.svc.cluster.local", "source-watcher.flux-system.svc.cluster.local"}

const mebibyte = 1 << 20

func (a *artifactFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&a.dir, "artifact-dir", "",
		"The directory that caches artifacts of Flux sources; it belongs to this process alone. By default one in the temporary directory.")
	flags.IntVar(&a.retries, "http-retry", 9, "The maximum number of retries when failing to fetch artifacts over HTTP.")
	flags.Int64Var(&a.cacheBytes, "artifact-cache-size", 1024*mebibyte, "The bytes on disk that unused artifacts may take.")
	flags.Int64Var(&a.maxDownload, "artifact-max-download", 64*mebibyte, "The largest download of an artifact, in bytes.")
	flags.Int64Var(&a.maxExtracted, "artifact-max-extracted", 256*mebibyte, "The largest extracted artifact, in bytes.")
	flags.StringSliceVar(&a.hosts, "artifact-hosts", storageOfFlux,
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
func (a *artifactFlags) options(publicOnly bool) fetch.Options {
	return fetch.Options{
		Dir: a.dir, Retries: a.retries, CacheBytes: a.cacheBytes,
		MaxExtracted: a.maxExtracted, MaxDownload: a.maxDownload, HostOverwrite: os.Getenv("SOURCE_CONTROLLER_LOCALHOST"),
		PublicOnly: publicOnly, Storage: a.hosts,
	}
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
	access, closeAll, err := a.open(mgr, mgr.GetAPIReader(), flags.sourcePolicy(), flags.targets.accounts.Self, flags.targets.publicOnly)
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
	gates          features.FeatureGates
	defaultAccount string
	own            bool
}

func (i *identityFlags) bindFlags(flags *pflag.FlagSet) {
	i.gates.BindFlags(flags)
	flags.BoolVar(&i.own, "registry-controller-identity", false,
		"Let everybody who names a cloud but no ServiceAccount log in at its registries with the identity of this process.")
}

// bindDefault binds the flag of a process where it says nothing else; see targetFlags.bindSelfFlag.
func (i *identityFlags) bindDefault(flags *pflag.FlagSet) {
	flags.StringVar(&i.defaultAccount, auth.ControllerFlagDefaultServiceAccount, "",
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
		i.defaultAccount = account
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
	case i.defaultAccount != "":
		return nil, errNoGate
	}
	live, err := client.New(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), HTTPClient: mgr.GetHTTPClient()})
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return oci.NewIdentities(i.options(live))
}

// options is what the flags say about identities of clouds, which live reads.
func (i *identityFlags) options(live client.Client) oci.IdentityOptions {
	return oci.IdentityOptions{Client: live, OwnIdentity: i.own, DefaultServiceAccount: i.defaultAccount}
}
