{{- define "deskbridge.labels" -}}
app.kubernetes.io/name: deskbridge
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* The keys of a secret that a process gets: all of them, or only the existing ones of `only`. */}}
{{- define "deskbridge.keys" -}}
{{- range .secret.keys }}{{ if or (not $.only) (has . $.only) }}{{ . }} {{ end }}{{ end }}
{{- end }}

{{- /* A pod: root, component, secret, only, settings, arguments, restart, port, isAsked, resources. */}}
{{- define "deskbridge.pod" -}}
{{- $keys := include "deskbridge.keys" . | trim | splitList " " -}}
metadata:
  labels:
    {{- include "deskbridge.labels" . | nindent 4 }}
spec:
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 40
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    seccompProfile: {type: RuntimeDefault}
  {{- with .restart }}
  restartPolicy: {{ . }}
  {{- end }}
  containers:
    - name: {{ .component }}
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: {{ toJson .arguments }}
      env:
        - {name: DESKBRIDGE_LOG_FORMAT, value: json}
        {{- range $key := $keys }}
        - {name: DESKBRIDGE_{{ $key | replace "-" "_" | upper }}_FILE, value: /run/secrets/deskbridge/{{ $key }}}
        {{- end }}
        {{- range $name, $value := .settings }}
        - {name: DESKBRIDGE_{{ $name }}, value: {{ $value | toString | quote }}}
        {{- end }}
      {{- if .port }}
      ports:
        - {name: http, containerPort: {{ .port }}}
      # a live process is not restarted if it cannot work because the database is down
      startupProbe: {httpGet: {path: /livez, port: http}, periodSeconds: 2, failureThreshold: 30}
      livenessProbe: {httpGet: {path: /livez, port: http}, periodSeconds: 10, timeoutSeconds: 5}
      {{- if .isAsked }}
      readinessProbe: {httpGet: {path: /readyz, port: http}, periodSeconds: 5, timeoutSeconds: 5}
      {{- end }}
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      {{- with .resources }}
      resources: {{ toJson . }}
      {{- end }}
      volumeMounts:
        - {name: secrets, mountPath: /run/secrets/deskbridge, readOnly: true}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - name: secrets
      secret:
        secretName: {{ .secret.name }}
        defaultMode: 0440
        items:
          {{- range $key := $keys }}
          - {key: {{ $key }}, path: {{ $key }}}
          {{- end }}
    - name: tmp
      emptyDir: {medium: Memory, sizeLimit: 64Mi}
{{- end }}
