{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "process.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "process.fullname" -}}
{{- $name := include "process.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "process.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/part-of: landscaper
{{ include "process.selectorLabels" . }}
{{- end -}}

{{- define "process.selectorLabels" -}}
app.kubernetes.io/name: {{ include "process.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "process.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "process.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* An image of {repository, tag}; a tag that is a digest is joined with @. */ -}}
{{- define "process.image" -}}
{{- $tag := default .default .image.tag -}}
{{- printf "%s%s%s" .image.repository (ternary "@" ":" (hasPrefix "sha256:" $tag)) $tag -}}
{{- end -}}

{{- /* The Secret with the kubeconfig of the landscaper cluster; empty where the process runs in that cluster. */ -}}
{{- define "process.clusterSecret" -}}
{{- $access := (include "process.settings" . | fromYaml).access | default dict -}}
{{- if $access.kubeconfig -}}
{{- include "process.fullname" . }}-landscaper-cluster-kubeconfig
{{- else if kindIs "map" $access.secretRef -}}
{{- $access.secretRef.name -}}
{{- else -}}
{{- $access.secretRef | default "" -}}
{{- end -}}
{{- end -}}
