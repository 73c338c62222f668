{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- /* The deployer's type: helm, manifest, container or mock. */ -}}
{{- define "deployer.type" -}}
{{- trimSuffix "-deployer" .Chart.Name -}}
{{- end -}}

{{- define "deployer.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "deployer.fullname" -}}
{{- $name := include "deployer.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "deployer.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: landscaper
{{ include "deployer.selectorLabels" . }}
{{- end -}}

{{- define "deployer.selectorLabels" -}}
app.kubernetes.io/name: {{ include "deployer.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "deployer.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "deployer.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* An image of {repository, tag}; a tag that is a digest is joined with @. */ -}}
{{- define "deployer.image" -}}
{{- $tag := default .default .image.tag -}}
{{- printf "%s%s%s" .image.repository (ternary "@" ":" (hasPrefix "sha256:" $tag)) $tag -}}
{{- end -}}

{{- /* The Secret with the kubeconfig of the landscaper cluster; empty where the deployer runs in that cluster. */ -}}
{{- define "deployer.clusterSecret" -}}
{{- $access := .Values.deployer.landscaperClusterKubeconfig | default dict -}}
{{- if $access.kubeconfig -}}
{{- include "deployer.fullname" . }}-landscaper-cluster-kubeconfig
{{- else if $access.secretRef -}}
{{- $access.secretRef -}}
{{- end -}}
{{- end -}}

{{- /* The configuration file. */ -}}
{{- define "deployer.configuration" -}}
{{- $type := include "deployer.type" . -}}
{{- $version := ternary "v1alpha2" "v1alpha1" (eq $type "manifest") -}}
{{- $config := dict "apiVersion" (printf "%s.deployer.landscaper.gardener.cloud/%s" $type $version) "kind" "Configuration" -}}
{{- with .Values.deployer.identity }}{{ $_ := set $config "identity" . }}{{ end -}}
{{- with .Values.deployer.targetSelector }}{{ $_ := set $config "targetSelector" . }}{{ end -}}
{{- with .Values.deployer.controller }}{{ $_ := set $config "controller" . }}{{ end -}}
{{- $oci := .Values.deployer.oci | default dict -}}
{{- if $oci.secrets -}}
{{- $files := list -}}
{{- range $name, $_ := $oci.secrets }}{{ $files = append $files (printf "/etc/landscaper/registries/%s" $name) }}{{ end -}}
{{- $_ := set $config "oci" (dict "configFiles" $files) -}}
{{- end -}}
{{- if eq $type "container" -}}
{{- $_ := set $config "namespace" (default .Release.Namespace .Values.deployer.namespace) -}}
{{- with .Values.deployer.defaultImage }}{{ $_ := set $config "defaultImage" (dict "image" (include "deployer.image" (dict "image" . "default" "latest"))) }}{{ end -}}
{{- end -}}
{{ toYaml $config }}
{{- end -}}
