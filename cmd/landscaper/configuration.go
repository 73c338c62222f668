// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	manifestv1alpha2 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mockv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// maxConfiguration is the size of the largest configuration file, in bytes: that of a ConfigMap.
const maxConfiguration = 1 << 20

// setting is a value of a configuration file, as the flag takes it that says the same.
type setting struct {
	// field is where it is in the file.
	field, flag string
	// values are several for a list; none says that the file says nothing.
	values []string
}

// readFile gives flags that are not set on the command line the values of the configuration file. It returns what of the file has no effect.
func (f *deployerFlags) readFile(flags *pflag.FlagSet) ([]string, error) {
	if f.file == "" {
		return nil, nil
	}
	raw, err := readFile(f.file, maxConfiguration)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	settings, warnings, err := decodeConfiguration(f.itemType, raw)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", f.file, err)
	}
	unset := map[string]bool{}
	for _, s := range settings {
		flag := flags.Lookup(s.flag)
		unset[s.flag] = flag != nil && !flag.Changed
	}
	for _, s := range settings {
		if !unset[s.flag] {
			continue
		}
		for _, value := range s.values {
			if err := flags.Set(s.flag, value); err != nil {
				return nil, fmt.Errorf("--config %s: %s: %w", f.file, s.field, errors.Unwrap(err))
			}
		}
	}
	return warnings, nil
}

// readFile reads a file up to a size.
func readFile(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path) // #nosec G304 -- the file of a flag
	if err != nil {
		return nil, fmt.Errorf("%w; mount the file there, or correct the path", err)
	}
	defer file.Close()
	raw, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%w; give the path of a file", err)
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes; write less", path, limit)
	}
	return raw, nil
}

// decodeConfiguration reads the configuration file of the deployer of a type as settings, with what in it has no effect.
func decodeConfiguration(itemType string, text []byte) ([]setting, []string, error) {
	raw, err := foreign.ToJSON(text)
	if err != nil {
		return nil, nil, fmt.Errorf("the file %w", err)
	}
	common, registries, own := managedresource.CommonConfiguration{}, (*managedresource.OCIConfiguration)(nil), []setting(nil)
	var ignored, into any
	switch itemType {
	case v1alpha1.HelmDeployItemType:
		config, failed := helmv1alpha1.DecodeFileConfiguration(raw)
		if err = failed; err == nil {
			common, registries, ignored, into = config.CommonConfiguration, config.OCI, config.Export, &helmv1alpha1.Configuration{}
		}
	case v1alpha1.ManifestDeployItemType:
		config, failed := manifestv1alpha2.DecodeFileConfiguration(raw)
		if err = failed; err == nil {
			common, ignored, into = config.CommonConfiguration, config.Export, &manifestv1alpha2.Configuration{}
		}
	case v1alpha1.ContainerDeployItemType:
		config, failed := containerv1alpha1.DecodeFileConfiguration(raw)
		if err = failed; err == nil {
			written := &containerv1alpha1.Configuration{} // without defaults
			into, common, registries = written, config.CommonConfiguration, config.OCI
			err = document.Decode(raw, written)
			own = containerSettings(written)
		}
	default:
		config, failed := mockv1alpha1.DecodeFileConfiguration(raw)
		if err = failed; err == nil {
			common, into = config.CommonConfiguration, &mockv1alpha1.Configuration{}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	if err := check(&common); err != nil {
		return nil, nil, err
	}
	settings, err := commonSettings(&common)
	return append(append(settings, registrySettings(registries)...), own...), warnings(raw, into, &common, registries, ignored), err
}

// check refuses values that no flag would.
func check(common *managedresource.CommonConfiguration) error {
	if common.Controller.Workers < 0 {
		return fmt.Errorf("controller.workers: is %d; write a number from 1 on, or leave it out", common.Controller.Workers)
	}
	if timeout := common.Controller.CacheSyncTimeout; timeout != nil && timeout.Duration <= 0 {
		return errors.New("controller.cacheSyncTimeout: is not greater than zero; write a duration like 2m, or leave it out")
	}
	return nil
}

func commonSettings(common *managedresource.CommonConfiguration) ([]setting, error) {
	settings := []setting{
		{"identity", "identity", given(common.Identity)},
		{"controller.workers", "concurrent", number(common.Controller.Workers)},
	}
	if timeout := common.Controller.CacheSyncTimeout; timeout != nil {
		settings = append(settings, setting{"controller.cacheSyncTimeout", "cache-sync-timeout", []string{timeout.Duration.String()}})
	}
	selectors := setting{field: "targetSelector", flag: "target-selector"}
	for i := range common.TargetSelector {
		raw, err := json.Marshal(common.TargetSelector[i])
		if err != nil {
			return nil, fmt.Errorf("targetSelector[%d]: %w", i, err)
		}
		if _, err := parseSelectors([]string{string(raw)}); err != nil {
			return nil, fmt.Errorf("targetSelector[%d]: selects every Target; give targets, annotations or labels, or leave it out", i)
		}
		selectors.values = append(selectors.values, string(raw))
	}
	return append(settings, selectors), nil
}

func registrySettings(registries *managedresource.OCIConfiguration) []setting {
	if registries == nil {
		return nil
	}
	return []setting{{"oci.configFiles", "oci-config-file", registries.ConfigFiles}}
}

func containerSettings(config *containerv1alpha1.Configuration) []setting {
	period := setting{field: "garbageCollection.requeueTimeSeconds", flag: "garbage-collection-period"}
	if seconds := config.GarbageCollection.RequeueTimeSeconds; seconds > 0 {
		period.values = []string{(time.Duration(seconds) * time.Second).String()}
	}
	return []setting{
		{"namespace", "host-namespace", given(config.Namespace)},
		{"initContainer.image", "sidecar-image", given(cmp.Or(config.InitContainer.Image, config.WaitContainer.Image))},
		{"initContainer.imagePullPolicy", "sidecar-pull-policy", given(string(cmp.Or(config.InitContainer.ImagePullPolicy, config.WaitContainer.ImagePullPolicy)))},
		{"defaultImage.image", "default-image", given(config.DefaultImage.Image)},
		{"garbageCollection.disable", "disable-garbage-collection", truth(config.GarbageCollection.Disable)},
		{"debug.keepPod", "keep-pods", truth(config.DebugOptions != nil && config.DebugOptions.KeepPod)},
		period,
	}
}

// warnings returns what a file says without effect.
func warnings(raw []byte, into any, common *managedresource.CommonConfiguration, registries *managedresource.OCIConfiguration, export any) []string {
	var all []string
	for _, key := range document.Keys(raw, into) {
		all = append(all, key.String())
	}
	if common.HPA != nil {
		all = append(all, "hpa: replicas elect a leader, so only one of them works; shard with --watch-label-selector instead")
	}
	if written, ok := export.(*v1alpha1.AnyJSON); ok && written != nil {
		all = append(all, "export: the timeout of the DeployItem governs")
	}
	if registries != nil && registries.AllowPlainHTTP {
		all = append(all, "oci.allowPlainHttp: name the registries without TLS in --oci-plain-http instead")
	}
	if registries != nil && registries.InsecureSkipVerify {
		all = append(all, "oci.insecureSkipVerify: certificates are always verified; add the authority to those of the system instead")
	}
	if registries != nil && registries.Cache != nil {
		all = append(all, "oci.cache: see --oci-cache-dir and --oci-cache-size")
	}
	return all
}

// given returns a text as the value of a flag, unless it is empty.
func given(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func number(n int) []string {
	if n == 0 {
		return nil
	}
	return []string{strconv.Itoa(n)}
}

func truth(is bool) []string {
	if !is {
		return nil
	}
	return []string{"true"}
}
