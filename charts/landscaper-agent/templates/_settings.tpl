{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}
{{- define "agent.name" -}}
{{- default .Release.Name .Values.agent.name -}}
{{- end -}}

{{- define "agent.namespace" -}}
{{- default .Release.Namespace .Values.agent.namespace -}}
{{- end -}}

{{- /* What the shared templates need: the access to the landscaper cluster, the logins at registries, the arguments and the configuration file. */ -}}
{{- define "process.settings" -}}
{{- $access := .Values.agent.landscaperClusterKubeconfig | default dict -}}
{{- if not (or $access.secretRef $access.kubeconfig) -}}
{{- fail "agent.landscaperClusterKubeconfig: give secretRef, the name of a Secret with the key bootstrap-kubeconfig or kubeconfig, or kubeconfig" -}}
{{- end -}}
{{- $config := dict "apiVersion" "config.landscaper.gardener.cloud/v1alpha1" "kind" "AgentConfiguration" -}}
{{- $_ := set $config "name" (include "agent.name" .) -}}
{{- $_ := set $config "namespace" (include "agent.namespace" .) -}}
{{- $_ := set $config "landscaperNamespace" (default (print "ls-env-" (include "agent.name" .)) .Values.agent.landscaperNamespace) -}}
{{- range $key := list "hostRights" "targetNamespaces" "targetSelectors" -}}
{{- with index $.Values.agent $key }}{{ $_ := set $config $key . }}{{ end -}}
{{- end -}}
{{- $args := list "agent" "--bootstrap-kubeconfig=/etc/landscaper/cluster/bootstrap-kubeconfig" -}}
{{- with .Values.agent.eventsAddr }}{{ $args = append $args (print "--events-addr=" .) }}{{ end -}}
{{- if .Values.agent.contentRelay }}{{ fail "agent.contentRelay: there is no content relay; fill a registry inside the fence with flux-landscaper mirror push and name it in extraArgs with --oci-mirror, see docs/relay-to-mirror.md" }}{{ end -}}
{{- $settings := dict "configuration" $config "args" (concat $args .Values.agent.extraArgs) "verbosity" .Values.agent.verbosity -}}
{{- $_ := set $settings "access" $access -}}
{{- $_ := set $settings "registries" ((.Values.agent.registryConfig | default dict).secrets | default dict) -}}
{{ toYaml $settings }}
{{- end -}}
