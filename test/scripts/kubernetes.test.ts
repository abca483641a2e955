/**
 * The Kubernetes manifests, and the Helm chart as rendered by helm: the same guarantees for probes,
 * privileges, networks and scaling.
 */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Yaml from "effect/encoding/Yaml"
import { decodeConfig } from "../../src/settings/ConfigFile.ts"

const Probe = Schema.Struct({ httpGet: Schema.Struct({ path: Schema.String, port: Schema.String }) })
const Port = Schema.Struct({ name: Schema.String, containerPort: Schema.Finite })
const Container = Schema.Struct({
  ports: Schema.Array(Port),
  env: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
  readinessProbe: Probe,
  startupProbe: Probe,
  livenessProbe: Probe,
  securityContext: Schema.Struct({
    readOnlyRootFilesystem: Schema.Literal(true),
    allowPrivilegeEscalation: Schema.Literal(false)
  }),
  resources: Schema.Struct({ limits: Schema.Struct({ memory: Schema.String }) }),
  lifecycle: Schema.Struct({
    preStop: Schema.Struct({ sleep: Schema.Struct({ seconds: Schema.Finite }) })
  })
})
const EmptyDir = Schema.Struct({ emptyDir: Schema.Struct({ sizeLimit: Schema.String }) })
const Mounted = Schema.Struct({ configMap: Schema.Struct({ name: Schema.String }) })
const Deployment = Schema.Struct({
  spec: Schema.Struct({
    replicas: Schema.optional(Schema.Never),
    selector: Schema.Struct({ matchLabels: Schema.Record(Schema.String, Schema.String) }),
    strategy: Schema.Struct({ rollingUpdate: Schema.Struct({ maxUnavailable: Schema.Literal(0) }) }),
    template: Schema.Struct({
      metadata: Schema.Struct({ labels: Schema.Record(Schema.String, Schema.String) }),
      spec: Schema.Struct({
        serviceAccountName: Schema.String,
        automountServiceAccountToken: Schema.Literal(false),
        enableServiceLinks: Schema.Literal(false),
        terminationGracePeriodSeconds: Schema.Finite,
        securityContext: Schema.Struct({ runAsNonRoot: Schema.Literal(true) }),
        containers: Schema.Tuple([Container]),
        volumes: Schema.Array(Schema.Union([EmptyDir, Mounted]))
      })
    })
  })
})
const Selected = Schema.Record(Schema.String, Schema.String)
const Service = Schema.Struct({
  spec: Schema.Struct({ selector: Selected, ports: Schema.Tuple([Schema.Struct({ targetPort: Schema.String })]) })
})
const ConfigMap = Schema.Struct({ data: Schema.Struct({ "tollgate.yaml": Schema.String }) })
const Scaler = Schema.Struct({
  spec: Schema.Struct({ minReplicas: Schema.Finite, scaleTargetRef: Selected })
})
const DisruptionBudget = Schema.Struct({ spec: Schema.Struct({ maxUnavailable: Schema.Finite }) })
const NetworkPolicy = Schema.Struct({
  spec: Schema.Struct({
    policyTypes: Schema.Array(Schema.String),
    ingress: Schema.Array(
      Schema.Struct({
        from: Schema.optional(Schema.Array(Schema.Unknown)),
        ports: Schema.Tuple([Schema.Struct({ port: Schema.String })])
      })
    )
  })
})
const Ingress = Schema.Struct({
  spec: Schema.Struct({
    rules: Schema.Tuple([
      Schema.Struct({
        http: Schema.Struct({
          paths: Schema.Array(Schema.Struct({ path: Schema.String, pathType: Schema.Literals(["Prefix", "Exact"]) }))
        })
      })
    ])
  })
})
const Monitor = Schema.Struct({
  spec: Schema.Struct({ endpoints: Schema.Tuple([Schema.Struct({ port: Schema.Literal("metrics") })]) })
})
const Named = Schema.Struct({ kind: Schema.String, metadata: Schema.Struct({ name: Schema.String }) })

type Documents = ReadonlyArray<unknown>
type Readable = Schema.Top & { readonly DecodingServices: never }

const documentsOf = (text: string): Documents =>
  text
    .split(/^---$/m)
    .map((document) => Yaml.parse(document) as unknown)
    .filter((document) => document !== null)

const find = <S extends Readable>(documents: Documents, kind: string, schema: S): S["Type"] =>
  Schema.decodeUnknownSync(schema)(documents.find((one) => Schema.decodeUnknownSync(Named)(one).kind === kind))

const kindsOf = (documents: Documents) => documents.map((one) => Schema.decodeUnknownSync(Named)(one).kind)

/** The guarantees of both ways to deploy. */
const core = ["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy", "PodDisruptionBudget", "Service"]

const keepsItsPromises = (documents: Documents, name: string): void => {
  const { spec } = find(documents, "Deployment", Deployment)
  const pod = spec.template.spec
  const [container] = pod.containers
  assert.deepStrictEqual(
    container.ports.map((port) => [port.name, port.containerPort]),
    [
      ["http", 8787],
      ["metrics", 9464]
    ]
  )
  assert.deepStrictEqual(container.readinessProbe.httpGet, { path: "/health/ready", port: "http" })
  assert.deepStrictEqual(container.startupProbe.httpGet, { path: "/health/ready", port: "http" })
  assert.deepStrictEqual(container.livenessProbe.httpGet, { path: "/health/live", port: "http" })
  const variables = Object.fromEntries(container.env.map((variable) => [variable.name, variable.value]))
  assert.strictEqual(variables["TOLLGATE_ENV"], "production")
  assert.strictEqual(variables["TOLLGATE_ADMIN_PORT"], "9464")
  // The pause, the drain, and five seconds to close.
  const pause = container.lifecycle.preStop.sleep.seconds
  assert.isAtLeast(pod.terminationGracePeriodSeconds, pause + 30 + 5)

  // Selectors match the pods.
  const service = find(documents, "Service", Service)
  for (const selector of [spec.selector.matchLabels, service.spec.selector]) {
    for (const [label, value] of Object.entries(selector)) {
      assert.strictEqual(spec.template.metadata.labels[label], value, label)
    }
  }
  assert.strictEqual(service.spec.ports[0].targetPort, "http")

  const config = find(documents, "ConfigMap", ConfigMap)
  assert.isTrue(Result.isSuccess(decodeConfig("tollgate.yaml", config.data["tollgate.yaml"], {}).decoded))

  const scaler = find(documents, "HorizontalPodAutoscaler", Scaler)
  assert.deepStrictEqual(scaler.spec.scaleTargetRef, { apiVersion: "apps/v1", kind: "Deployment", name })
  assert.isBelow(find(documents, "PodDisruptionBudget", DisruptionBudget).spec.maxUnavailable, scaler.spec.minReplicas)

  // The API is open to all; metrics are open to chosen namespaces.
  const network = find(documents, "NetworkPolicy", NetworkPolicy)
  assert.deepStrictEqual(network.spec.policyTypes, ["Ingress", "Egress"])
  for (const { from, ports } of network.spec.ingress) {
    if (ports[0].port === "metrics") assert.isAbove(from?.length ?? 0, 0)
    else assert.strictEqual(ports[0].port, "http")
  }
}

/** The ingress exposes neither administration nor metrics. */
const keepsAdministrationPrivate = (documents: Documents): void => {
  const { paths } = find(documents, "Ingress", Ingress).spec.rules[0].http
  const isReached = (asked: string) =>
    paths.some(({ path, pathType }) => (pathType === "Exact" ? asked === path : `${asked}/`.startsWith(`${path}/`)))
  for (const path of ["/v1/chat/completions", "/v1/embeddings", "/v1/models", "/v1/generations/gen_1", "/v1/key"]) {
    assert.isTrue(isReached(path), path)
  }
  for (const path of ["/v1/keys", "/v1/keys/key_1", "/v1/admin/overview", "/metrics", "/", "/console"]) {
    assert.isFalse(isReached(path), path)
  }
}

const filesIn = (folder: string): string =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .map((name) => readFileSync(`${folder}/${name}`, "utf8"))
    .join("\n---\n")

const holdsNoSecret = (text: string): void =>
  assert.notMatch(text.replaceAll(/^\s*#.*$/gm, ""), /password|sk-|postgres:\/\/|redis(?:s)?:\/\//i)

describe("deploy/kubernetes", () => {
  it("has what a service that must not stop needs, and keeps its promises", () => {
    const documents = documentsOf(filesIn("deploy/kubernetes"))
    assert.sameMembers(kindsOf(documents), [...core, "ServiceAccount"])
    keepsItsPromises(documents, "tollgate")
    holdsNoSecret(filesIn("deploy/kubernetes"))
  })

  it("has an ingress without administration and a monitor as examples", () => {
    const documents = documentsOf(filesIn("deploy/kubernetes/optional"))
    assert.sameMembers(kindsOf(documents), ["Ingress", "Service", "ServiceMonitor"])
    keepsAdministrationPrivate(documents)
    find(documents, "ServiceMonitor", Monitor)
  })
})

const isHelmThere = spawnSync("helm", ["version"]).error === undefined

/** The chart rendered by helm, for the oldest Kubernetes version that it supports. */
const rendered = (...settings: ReadonlyArray<string>): string => {
  const args = ["template", "gate", "deploy/helm/tollgate", "--kube-version", "1.30.0", ...settings]
  const { status, stderr, stdout } = spawnSync("helm", args, { encoding: "utf8" })
  assert.strictEqual(status, 0, stderr)
  return stdout
}

describe.skipIf(!isHelmThere)("deploy/helm/tollgate, rendered by helm", () => {
  it("is the manifests under the release's name, and keeps their promises", () => {
    const documents = documentsOf(rendered())
    assert.sameMembers(kindsOf(documents), [...core, "ServiceAccount"])
    keepsItsPromises(documents, "gate")
    holdsNoSecret(rendered())
  })

  it("adds the ingress and the monitor when asked, and takes other settings", () => {
    const documents = documentsOf(rendered("--set", "ingress.enabled=true", "--set", "serviceMonitor.enabled=true"))
    assert.sameMembers(kindsOf(documents), [...core, "ServiceAccount", "Service", "Ingress", "ServiceMonitor"])
    keepsAdministrationPrivate(documents)
    find(documents, "ServiceMonitor", Monitor)
    const other = documentsOf(rendered("--set-json", "settings.markup=0.1", "--set", "networkPolicy.enabled=false"))
    assert.include(find(other, "ConfigMap", ConfigMap).data["tollgate.yaml"], "markup: 0.1")
    assert.notInclude(kindsOf(other), "NetworkPolicy")
  })

  it("passes helm lint", () => {
    assert.strictEqual(spawnSync("helm", ["lint", "--strict", "deploy/helm/tollgate"]).status, 0)
  })
})

it("the chart's version is the program's", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string }
  const chart = Yaml.parse(readFileSync("deploy/helm/tollgate/Chart.yaml", "utf8")) as Record<string, unknown>
  assert.deepStrictEqual([chart["version"], chart["appVersion"]], [version, version])
})
