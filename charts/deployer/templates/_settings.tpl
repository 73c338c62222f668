{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- /* The deployer's type: helm, manifest, container or mock. */ -}}
{{- define "deployer.type" -}}
{{- trimSuffix "-deployer" .Chart.Name -}}
{{- end -}}

{{- /* What the shared templates need: the access to the landscaper cluster, the logins at registries, the arguments and the configuration file. */ -}}
{{- define "process.settings" -}}
{{- $type := include "deployer.type" . -}}
{{- $version := ternary "v1alpha2" "v1alpha1" (eq $type "manifest") -}}
{{- $config := dict "apiVersion" (printf "%s.deployer.landscaper.gardener.cloud/%s" $type $version) "kind" "Configuration" -}}
{{- with .Values.deployer.identity }}{{ $_ := set $config "identity" . }}{{ end -}}
{{- with .Values.deployer.targetSelector }}{{ $_ := set $config "targetSelector" . }}{{ end -}}
{{- with .Values.deployer.controller }}{{ $_ := set $config "controller" . }}{{ end -}}
{{- if eq $type "container" -}}
{{- $_ := set $config "namespace" (default .Release.Namespace .Values.deployer.namespace) -}}
{{- with .Values.deployer.defaultImage }}{{ $_ := set $config "defaultImage" (dict "image" (include "process.image" (dict "image" . "default" "latest"))) }}{{ end -}}
{{- end -}}
{{- $args := list "deployer" $type "--enable-leader-election" -}}
{{- with .Values.deployer.environment }}{{ $args = append $args (print "--environment=" .) }}{{ end -}}
{{- with .Values.deployer.watchNamespaces }}{{ $args = append $args (print "--watch-namespaces=" (join "," .)) }}{{ end -}}
{{- with .Values.deployer.eventsAddr }}{{ $args = append $args (print "--events-addr=" .) }}{{ end -}}
{{- if .Values.deployer.contentRelay }}{{ fail "deployer.contentRelay: there is no content relay; fill a registry inside the fence with flux-landscaper mirror push and name it in extraArgs with --oci-mirror, see docs/relay-to-mirror.md" }}{{ end -}}
{{- $settings := dict "configuration" $config "args" (concat $args .Values.deployer.extraArgs) "verbosity" .Values.deployer.verbosityLevel -}}
{{- $_ := set $settings "access" (.Values.deployer.landscaperClusterKubeconfig | default dict) -}}
{{- $_ := set $settings "registries" ((.Values.deployer.oci | default dict).secrets | default dict) -}}
{{ toYaml $settings }}
{{- end -}}
