{{- define "common.cm" -}}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .name }}}
data: {v: {{ .v | quote }}}
{{- end -}}
