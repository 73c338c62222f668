{{- /*
Copyright 2026 The flux-landscaper Authors
SPDX-License-Identifier: Apache-2.0
*/ -}}

{{- /* The name of the cluster itself as an Environment; empty where it is none. */ -}}
{{- define "agent.environment" -}}
{{- $agent := (.Values.landscaper.deployerManagement | default dict).agent -}}
{{- if and $agent (include "controller.manages" .) (not $agent.disable) -}}
{{- $access := .Values.controller.landscaperKubeconfig | default dict -}}
{{- if or $access.secretRef $access.kubeconfig -}}
{{- fail "landscaper.deployerManagement.agent: with controller.landscaperKubeconfig the Installations are in another cluster. Set agent.disable to true, and install the chart landscaper-agent in this cluster" -}}
{{- end -}}
{{ $agent.name | default "default" }}
{{- end -}}
{{- end -}}

{{- /* Where logins are in the Pod of the agent. */ -}}
{{- define "agent.registry" -}}/app/ls/registry/secrets{{- end -}}

{{- /* The configuration of the agent as it is in flux/own-environment, with what the values say. {root, text} */ -}}
{{- define "agent.configuration" -}}
{{- $config := fromYaml .text -}}
{{- $own := .root.Values.landscaper -}}
{{- with $own.deployerManagement.agent.targetSelectors }}{{ $_ := set $config "targetSelectors" . }}{{ end -}}
{{- $files := list -}}
{{- range $name, $_ := $own.registryConfig.secrets }}{{ $files = append $files (print (include "agent.registry" $) "/" $name) }}{{ end -}}
{{- with $files }}{{ $_ := set $config "oci" (dict "configFiles" .) }}{{ end -}}
{{ toYaml $config }}
{{- end -}}

{{- /* The Deployment of the agent as it is in flux/own-environment, with what the values say. {root, name, object} */ -}}
{{- define "agent.deployment" -}}
{{- $values := .root.Values -}}
{{- $template := .object.spec.template -}}
{{- $pod := $template.spec -}}
{{- $container := first $pod.containers -}}
{{- $args := list -}}
{{- range $container.args }}{{ if not (hasPrefix "--events-addr=" .) }}{{ $args = append $args . }}{{ end }}{{ end -}}
{{- with $values.landscaper.eventsAddr }}{{ $args = append $args (print "--events-addr=" .) }}{{ end -}}
{{- with $values.landscaper.verbosity }}{{ $args = append $args (print "--log-level=" .) }}{{ end -}}
{{- $_ := set $container "args" $args -}}
{{- $_ := set $container "image" (include "controller.image" (dict "root" .root "image" $values.controller.image)) -}}
{{- $_ := set $container "imagePullPolicy" $values.controller.image.pullPolicy -}}
{{- $files := include "controller.files" .root | fromYaml -}}
{{- range $kind, $_ := $files -}}
{{- $secret := printf "landscaper-agent-%s-%s" $.name $kind -}}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" $kind "secret" (dict "secretName" $secret))) -}}
{{- end -}}
{{- range $file, $_ := $files.certs -}}
{{- $mount := dict "name" "certs" "mountPath" (print "/etc/ssl/certs/" $file) "subPath" $file "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) -}}
{{- end -}}
{{- if $files.registry -}}
{{- $mount := dict "name" "registry" "mountPath" (include "agent.registry" .) "readOnly" true -}}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) -}}
{{- end -}}
{{- /* Configuration, certificates and logins are read once. */ -}}
{{- $read := printf "%s%s" (toYaml $files) (toYaml $values.landscaper.deployerManagement) | sha256sum -}}
{{- $_ := set $template.metadata "annotations" (merge (dict "checksum/files" $read) ($values.podAnnotations | default dict) $template.metadata.annotations) -}}
{{- range $key := list "imagePullSecrets" "nodeSelector" "affinity" "tolerations" -}}
{{- with index $values $key }}{{ $_ := set $pod $key . }}{{ end -}}
{{- end -}}
{{ toYaml .object }}
{{- end -}}
