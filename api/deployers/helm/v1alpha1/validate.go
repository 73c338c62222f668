// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Keys of the maps of HelmDeploymentConfiguration.
var (
	installKeys = []string{
		"atomic", "crds", "disableHooks", "disableOpenAPIValidation", "disableWaitForJobs", "force", "remediation", "retries",
		"skipSchemaValidation", "takeOwnership", "timeout", "wait", "waitForJobs",
	}
	upgradeKeys   = slices.Sorted(slices.Values(append([]string{"cleanupOnFail"}, installKeys...)))
	uninstallKeys = []string{"deletionPropagation", "disableHooks", "keepHistory", "timeout", "wait"}
	rollbackKeys  = []string{"cleanupOnFail", "disableHooks", "disableWaitForJobs", "force", "recreate", "timeout", "wait", "waitForJobs"}
)

// installField is where the settings of installs are.
const installField = "helmDeploymentConfig.install"

// SourceKinds are the kinds that chart.sourceRef may name.
var SourceKinds = []string{"HelmChart", "OCIRepository", "GitRepository", "Bucket", "ExternalArtifact"}

// Validate checks a configuration. The error lists the problems, each with its field and cure.
func Validate(config *ProviderConfiguration) error {
	var errs []error
	errs = append(errs, require("name", config.Name), require("namespace", config.Namespace))
	errs = append(errs, validateNames(config)...)
	errs = append(errs, validateChart(&config.Chart)...)
	errs = append(errs, validateSettings(config.HelmDeploymentConfig)...)
	errs = append(errs, validateValuesFrom(config.ValuesFrom)...)
	errs = append(errs, validateMaxHistory(config.MaxHistory))
	errs = append(errs, validateCommonMetadata(config.CommonMetadata)...)
	errs = append(errs, validatePostRenderers(config.PostRenderers)...)
	errs = append(errs, validateTest(config)...)
	errs = append(errs, validateStrategy(config.UpdateStrategy))
	errs = append(errs, managedresource.ValidateApply(config.UpdateStrategy, config.OnConflict, config.OnImmutable)...)
	errs = append(errs, managedresource.ValidateReadiness("readinessChecks", &config.ReadinessChecks)...)
	errs = append(errs, managedresource.ValidateExports("exports", &managedresource.Exports{Exports: config.AllExports()})...)
	errs = append(errs, managedresource.ValidateContinuousReconcile("continuousReconcile", config.ContinuousReconcile)...)
	errs = append(errs, managedresource.ValidateDriftDetection("driftDetection", config.DriftDetection)...)
	errs = append(errs, managedresource.ValidateDeletionGroups("deletionGroups", config.DeletionGroups)...)
	errs = append(errs, managedresource.ValidateDeletionGroups("deletionGroupsDuringUpdate", config.DeletionGroupsDuringUpdate)...)
	return fault.Join(errs)
}

// validateNames checks what Helm refuses only after the chart is fetched and rendered. Without a release the name only stands in templates.
func validateNames(config *ProviderConfiguration) []error {
	var errs []error
	isName := len(config.Name) <= 53 && len(validation.IsDNS1123Subdomain(config.Name)) == 0
	if config.Name != "" && !isName && config.IsHelmDeployment() {
		errs = append(errs, fmt.Errorf("name: %q cannot be the name of a Helm release; use at most 53 lower case letters, digits, dots and dashes",
			document.Brief(config.Name)))
	}
	if config.Namespace != "" && len(validation.IsDNS1123Label(config.Namespace)) > 0 && config.IsHelmDeployment() {
		errs = append(errs, fmt.Errorf("namespace: %q cannot be the name of a namespace; use at most 63 lower case letters, digits and dashes",
			document.Brief(config.Namespace)))
	}
	return errs
}

func validateValuesFrom(references []ValuesReference) []error {
	if len(references) > MaxValuesFrom {
		return []error{fmt.Errorf("valuesFrom: has %d entries, more than %d; put several values into one object", len(references), MaxValuesFrom)}
	}
	var errs []error
	for i, ref := range references {
		at := fmt.Sprintf("valuesFrom[%d]", i)
		errs = append(errs, require(at+".kind", ref.Kind), oneOf(at+".kind", ref.Kind, SecretValues, ConfigMapValues))
		errs = append(errs, require(at+".name", ref.Name))
		if problems := validation.IsDNS1123Subdomain(ref.Name); ref.Name != "" && len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s.name: %q cannot be the name of an object; correct it", at, document.Brief(ref.Name)))
		}
		if problems := validation.IsConfigMapKey(ref.ValuesKey); ref.ValuesKey != "" && len(problems) > 0 {
			errs = append(errs, fmt.Errorf("%s.valuesKey: %q cannot be a key; correct it", at, document.Brief(ref.ValuesKey)))
		}
	}
	return errs
}

func validateMaxHistory(limit *int) error {
	if limit != nil && *limit < 0 {
		return errors.New("maxHistory: is less than 0; set it to 0, which means 1000, or more")
	}
	return nil
}

func validateCommonMetadata(metadata *CommonMetadata) []error {
	if metadata == nil {
		return nil
	}
	at := field.NewPath("commonMetadata")
	problems := perEntry(metadata.Labels, at.Child("labels"), metav1validation.ValidateLabels)
	if apivalidation.ValidateAnnotationsSize(metadata.Annotations) != nil {
		problems = append(problems, field.TooLong(at.Child("annotations"), "", apivalidation.TotalAnnotationSizeLimitB))
	} else {
		problems = append(problems, perEntry(metadata.Annotations, at.Child("annotations"), apivalidation.ValidateAnnotations)...)
	}
	var errs []error
	for _, problem := range problems {
		errs = append(errs, fmt.Errorf("%s: %q: %s; correct it", problem.Field, document.Brief(fmt.Sprint(problem.BadValue)), problem.Detail))
	}
	return errs
}

// perEntry checks one entry of a map after the other, by their keys, so that it need not look at all.
func perEntry(entries map[string]string, at *field.Path, check func(map[string]string, *field.Path) field.ErrorList) field.ErrorList {
	return fault.ProblemsInMap(entries, func(key, value string) []*field.Error { return check(map[string]string{key: value}, at) })
}

func validateStrategy(strategy managedresource.UpdateStrategy) error {
	switch strategy {
	case "", managedresource.UpdateStrategyUpdate, managedresource.UpdateStrategyPatch, managedresource.UpdateStrategyApply:
		return nil
	}
	return fmt.Errorf("updateStrategy: %q is unknown to the helm deployer, use update, patch or apply", document.Brief(strategy))
}

func validateChart(chart *Chart) []error {
	switch {
	case chart.Archive != nil:
		return validateArchive(chart.Archive)
	case chart.Ref != "":
		return []error{validateReference(chart.Ref)}
	case chart.HelmChartRepo != nil:
		return validateRepository(chart.HelmChartRepo)
	case chart.SourceRef != nil:
		return validateSource(chart.SourceRef)
	case chart.FromResource != nil:
		return validateFromResource(chart.FromResource)
	case chart.ResourceRef != "":
		return nil
	}
	return []error{errors.New("chart: names no source; set one of archive, ref, helmChartRepo, sourceRef or resourceRef")}
}

func validateArchive(archive *ArchiveAccess) []error {
	if archive.Raw != "" {
		if _, err := base64.StdEncoding.DecodeString(archive.Raw); err != nil {
			return []error{errors.New("chart.archive.raw: is not base64; encode the .tgz file of the chart")}
		}
		return nil
	}
	if archive.Remote == nil {
		return []error{errors.New("chart.archive: is empty; set raw or remote.url")}
	}
	return []error{validateURL("chart.archive.remote.url", archive.Remote.URL)}
}

func validateReference(ref string) error {
	name, _, _ := strings.Cut(ref, "@")
	if last := name[strings.LastIndex(name, "/")+1:]; !strings.Contains(last, ":") {
		return fmt.Errorf("chart.ref: %q has no tag; write registry/path:version", document.Brief(ref))
	}
	return nil
}

func validateRepository(repository *HelmChartRepo) []error {
	errs := []error{
		require("chart.helmChartRepo.helmChartRepoUrl", repository.HelmChartRepoUrl),
		require("chart.helmChartRepo.helmChartName", repository.HelmChartName),
		require("chart.helmChartRepo.helmChartVersion", repository.HelmChartVersion),
	}
	if repository.HelmChartRepoUrl != "" {
		errs = append(errs, validateRepositoryURL("chart.helmChartRepo.helmChartRepoUrl", RepositoryURL(repository.HelmChartRepoUrl)))
	}
	return errs
}

func validateRepositoryURL(field, raw string) error {
	parsed, err := url.Parse(raw)
	isRegistry := err == nil && parsed.Scheme == "oci" && parsed.Host != "" && parsed.User == nil
	if !isRegistry && validateURL(field, raw) != nil {
		return fmt.Errorf("%s: is not an http, https or oci URL; write https://host/path or oci://host/path", field)
	}
	return nil
}

// RepositoryURL returns the URL of a Helm repository with its scheme, https unless it has one, and without a slash at the end.
func RepositoryURL(raw string) string {
	if !strings.Contains(raw, "://") {
		raw = "https://" + raw
	}
	return strings.TrimRight(raw, "/")
}

func validateSource(source *landscaper.SourceReference) []error {
	errs := []error{require("chart.sourceRef.name", source.Name)}
	if !slices.Contains(SourceKinds, source.Kind) {
		errs = append(errs, fmt.Errorf("chart.sourceRef.kind: %q is unknown, use one of %s", document.Brief(source.Kind), strings.Join(SourceKinds, ", ")))
	}
	return errs
}

func validateFromResource(from *RemoteChartReference) []error {
	errs := []error{require("chart.fromResource.resourceName", from.ResourceName)}
	if from.Ref == nil && from.Inline == nil {
		errs = append(errs, errors.New("chart.fromResource: names no component, set ref or inline"))
	}
	return errs
}

func validateURL(field, raw string) error {
	parsed, err := url.Parse(raw)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return fmt.Errorf("%s: is not an http or https URL; write https://host/path", field)
	}
	return nil
}

func validateSettings(config *HelmDeploymentConfiguration) []error {
	if config == nil {
		return nil
	}
	var errs []error
	for _, part := range []struct {
		field   string
		values  map[string]landscaper.AnyJSON
		allowed []string
	}{
		{installField, config.Install, installKeys},
		{"helmDeploymentConfig.upgrade", config.Upgrade, upgradeKeys},
		{"helmDeploymentConfig.uninstall", config.Uninstall, uninstallKeys},
		{"helmDeploymentConfig.rollback", config.Rollback, rollbackKeys},
	} {
		settings, err := DecodeSettings(part.field, part.values)
		errs = append(errs, unknownKeys(part.field, part.values, part.allowed), err)
		errs = append(errs, validateRemediationKeys(part.field, part.values), validateRemediation(part.field, settings))
	}
	return errs
}

func unknownKeys(field string, values map[string]landscaper.AnyJSON, allowed []string) error {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(allowed, key) {
			return fmt.Errorf("%s.%s: is unknown, use only %s", field, key, strings.Join(allowed, ", "))
		}
	}
	return nil
}

// DecodeSettings reads one of the maps of HelmDeploymentConfiguration; field names it in the error about a value of a wrong type.
func DecodeSettings(field string, values map[string]landscaper.AnyJSON) (ReleaseSettings, error) {
	var settings ReleaseSettings
	raw, err := json.Marshal(values)
	if err == nil {
		err = document.Decode(raw, &settings)
	}
	if err != nil {
		return settings, fmt.Errorf("%s.%w", field, err)
	}
	if settings.Retries != nil && *settings.Retries < 0 {
		return settings, fmt.Errorf("%s.retries: is less than 0; set it to 0 or more", field)
	}
	if err := oneOf(field+".deletionPropagation", settings.DeletionPropagation, "background", "foreground", "orphan"); err != nil {
		return settings, err
	}
	if err := oneOf(field+".crds", settings.CRDs, CRDsSkip, CRDsCreate, CRDsCreateReplace); err != nil {
		return settings, err
	}
	if disabled := settings.DisableWaitForJobs; disabled != nil {
		if *disabled && settings.WaitForJobs {
			return settings, fmt.Errorf("%s.disableWaitForJobs: contradicts waitForJobs; set one of them", field)
		}
		settings.WaitForJobs = !*disabled
	}
	return settings, nil
}

// oneOf returns an error unless the value of a field is empty or one of those that are known.
func oneOf[T ~string](field string, value T, known ...T) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	names := make([]string, 0, len(known))
	for _, name := range known {
		names = append(names, string(name))
	}
	return fmt.Errorf("%s: %q is unknown, use one of %s", field, document.Brief(value), strings.Join(names, ", "))
}

func require(field, value string) error {
	if value != "" {
		return nil
	}
	return fmt.Errorf("%s: is empty, set it", field)
}
