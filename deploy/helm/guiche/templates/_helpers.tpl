{{- define "guiche.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "guiche.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "guiche.labels" -}}
{{ include "guiche.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "guiche.secret" -}}
{{ .Values.secrets.existingSecret | default (include "guiche.name" .) }}
{{- end }}

{{- /* The security of a pod: an ordinary user, and no access to the API of Kubernetes. */ -}}
{{- define "guiche.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* What the service and the migration have in common. */ -}}
{{- define "guiche.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
env:
  {{- /* Without it the available cores would decide, whatever the pod's memory limit. More pods are the way to scale. */ -}}
  {{- if not (hasKey .Values.config "PROCESSES") }}
  - name: PROCESSES
    value: "1"
  {{- end }}
  {{- range $name, $value := .Values.config }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
  - name: DATABASE_URL_FILE
    value: /run/secrets/guiche/database-url
  {{- if or .Values.secrets.databaseReadUrl .Values.secrets.hasDatabaseReadUrl }}
  - name: DATABASE_READ_URL_FILE
    value: /run/secrets/guiche/database-read-url
  {{- end }}
  - name: SECRET_KEY_FILE
    value: /run/secrets/guiche/secret-key
  {{- if or .Values.secrets.secretKeyPrevious .Values.secrets.hasSecretKeyPrevious }}
  - name: SECRET_KEY_PREVIOUS_FILE
    value: /run/secrets/guiche/secret-key-previous
  {{- end }}
  - name: METRICS_TOKEN_FILE
    value: /run/secrets/guiche/metrics-token
  {{- if .Values.config.OIDC_ISSUER }}
  - name: OIDC_CLIENT_SECRET_FILE
    value: /run/secrets/guiche/oidc-client-secret
  {{- end }}
  {{- if .Values.acquirers.existingSecret }}
  - name: ACQUIRERS_FILE
    value: /etc/guiche/acquirers.json
  {{- end }}
volumeMounts:
  - name: secrets
    mountPath: /run/secrets/guiche
    readOnly: true
  {{- if .Values.acquirers.existingSecret }}
  - name: acquirers
    mountPath: /etc/guiche
    readOnly: true
  {{- end }}
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
{{- end }}

{{- define "guiche.volumes" -}}
- name: secrets
  secret:
    secretName: {{ include "guiche.secret" . }}
    defaultMode: 0440
{{- if .Values.acquirers.existingSecret }}
- name: acquirers
  secret:
    secretName: {{ .Values.acquirers.existingSecret }}
    defaultMode: 0440
{{- end }}
- name: data
  emptyDir: {}
- name: tmp
  emptyDir: {}
{{- end }}
