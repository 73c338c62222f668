b: {{ .Values.v }}
