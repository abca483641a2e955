/** The container files: what they promise about privileges, secrets and order of start, and the health check against real servers. */
import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import { type AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import * as Yaml from "effect/encoding/Yaml"
import { decodeConfig } from "../../src/settings/ConfigFile.ts"

const Strings = Schema.Array(Schema.String)
const Service = Schema.Struct({
  user: Schema.optional(Schema.String),
  environment: Schema.Record(Schema.String, Schema.NullOr(Schema.String)),
  depends_on: Schema.optional(Schema.Record(Schema.String, Schema.Struct({ condition: Schema.String }))),
  ports: Schema.optional(Strings),
  networks: Strings,
  read_only: Schema.Boolean,
  tmpfs: Strings,
  cap_drop: Strings,
  security_opt: Strings,
  healthcheck: Schema.optional(Schema.Struct({ test: Strings })),
  command: Schema.optional(Strings)
})
const Compose = Schema.Struct({
  services: Schema.Struct({ gateway: Service, postgres: Service, redis: Service, balancer: Service }),
  networks: Schema.Record(Schema.String, Schema.NullOr(Schema.Struct({ internal: Schema.Boolean })))
})

const Several = Schema.Struct({
  services: Schema.Struct({
    several: Schema.Struct({
      extends: Schema.Struct({ service: Schema.String }),
      profiles: Strings,
      ports: Strings,
      volumes: Strings,
      deploy: Schema.Struct({ replicas: Schema.Finite })
    })
  })
})

const Probe = Schema.Struct({ httpGet: Schema.Struct({ path: Schema.String }) })
const Container = Schema.Struct({
  ports: Schema.Array(Schema.Struct({ containerPort: Schema.Finite })),
  readinessProbe: Probe,
  startupProbe: Probe,
  livenessProbe: Probe,
  securityContext: Schema.Struct({
    readOnlyRootFilesystem: Schema.Boolean,
    allowPrivilegeEscalation: Schema.Boolean
  }),
  lifecycle: Schema.Struct({
    preStop: Schema.Struct({ sleep: Schema.Struct({ seconds: Schema.Finite }) })
  })
})
const Deployment = Schema.Struct({
  spec: Schema.Struct({
    strategy: Schema.Struct({ rollingUpdate: Schema.Struct({ maxUnavailable: Schema.Finite }) }),
    template: Schema.Struct({
      spec: Schema.Struct({
        terminationGracePeriodSeconds: Schema.Finite,
        securityContext: Schema.Struct({ runAsNonRoot: Schema.Boolean }),
        containers: Schema.Tuple([Container])
      })
    })
  })
})
const ConfigMap = Schema.Struct({ data: Schema.Struct({ "tollgate.yaml": Schema.String }) })
const Scaler = Schema.Struct({
  spec: Schema.Struct({
    minReplicas: Schema.Finite,
    scaleTargetRef: Schema.Record(Schema.String, Schema.String)
  })
})
const DisruptionBudget = Schema.Struct({ spec: Schema.Struct({ maxUnavailable: Schema.Finite }) })

// The tags say how `extends` merges; what they stand before is data.
const compose = Yaml.parse(readFileSync("docker-compose.yml", "utf8").replaceAll(/!(?:reset|override) /g, ""))
const { services, networks } = Schema.decodeUnknownSync(Compose)(compose)
const dockerfile = readFileSync("Dockerfile", "utf8")

describe("docker-compose.yml", () => {
  for (const [name, service] of Object.entries(services)) {
    it(`gives ${name} no privileges and no root file system to write to`, () => {
      assert.isTrue(service.read_only)
      assert.deepStrictEqual(service.cap_drop, ["ALL"])
      assert.deepStrictEqual(service.security_opt, ["no-new-privileges:true"])
      assert.include(service.tmpfs, "/tmp")
    })
  }

  it("has no secret of its own: each is required from the environment", () => {
    const secrets = Object.values(services)
      .flatMap((service) => Object.entries(service.environment))
      .filter(([name, value]) => value !== null && /KEY|PASSWORD|AUTH|URL/.test(name))
    assert.strictEqual(secrets.length, 5)
    for (const [name, value] of secrets) assert.match(value ?? "", /\$\{[A-Z_]+:\?[^}]+\}/, name)
  })

  it("starts the gateway once both stores are healthy, and shows nothing but the gateway", () => {
    assert.deepStrictEqual(services.gateway.depends_on, {
      postgres: { condition: "service_healthy" },
      redis: { condition: "service_healthy" }
    })
    for (const store of [services.postgres, services.redis]) {
      assert.isDefined(store.healthcheck)
      assert.isUndefined(store.ports)
      assert.deepStrictEqual(store.networks, ["back"])
      assert.isDefined(store.user)
    }
    assert.deepStrictEqual(networks["back"], { internal: true })
    assert.deepStrictEqual(services.gateway.ports, ["${TOLLGATE_PUBLISH:-127.0.0.1:8787}:8787"])
  })
})

describe("several gateways behind a balancer", () => {
  const { several } = Schema.decodeUnknownSync(Several)(compose).services

  it("are the gateway's twins but for what only one of them can have", () => {
    assert.deepStrictEqual(several.extends, { service: "gateway" })
    assert.deepStrictEqual([several.ports, several.volumes], [[], []])
    assert.isAbove(several.deploy.replicas, 1)
    assert.deepStrictEqual(several.profiles, ["several"])
  })

  it("get streams through unbuffered, and no request twice", () => {
    const conf = readFileSync("deploy/nginx.conf", "utf8")
    assert.include(conf, "server several:8787")
    assert.match(conf, /proxy_buffering off;[\s\S]*proxy_next_upstream error timeout;/)
    assert.notInclude(conf, "non_idempotent")
    assert.deepStrictEqual(services.balancer.networks, ["front"])
  })
})

describe("deploy/kubernetes", () => {
  const documents = readdirSync("deploy/kubernetes").flatMap((file) =>
    readFileSync(`deploy/kubernetes/${file}`, "utf8")
      .split(/^---$/m)
      .map((text) => Yaml.parse(text))
  )
  const named = Schema.Struct({ kind: Schema.String, metadata: Schema.Struct({ name: Schema.Literal("tollgate") }) })
  const decode = <S extends Schema.Top & { readonly DecodingServices: never }>(kind: string, schema: S): S["Type"] =>
    Schema.decodeUnknownSync(schema)(documents.find((one) => Schema.decodeUnknownSync(named)(one).kind === kind))

  it("has what a service that must not stop needs", () => {
    assert.sameMembers(
      documents.map((one) => Schema.decodeUnknownSync(named)(one).kind),
      ["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "Service"]
    )
  })

  it("asks the paths that the gateway answers, on the port that it listens on, as nobody in particular", () => {
    const { spec } = decode("Deployment", Deployment)
    const [container] = spec.template.spec.containers
    assert.strictEqual(container.ports[0]?.containerPort, 8787)
    assert.strictEqual(container.readinessProbe.httpGet.path, "/health/ready")
    assert.strictEqual(container.startupProbe.httpGet.path, "/health/ready")
    assert.strictEqual(container.livenessProbe.httpGet.path, "/health/live")
    assert.isTrue(container.securityContext.readOnlyRootFilesystem)
    assert.isFalse(container.securityContext.allowPrivilegeEscalation)
    assert.isTrue(spec.template.spec.securityContext.runAsNonRoot)
    // The pause, the drain, and five seconds to close.
    const pause = container.lifecycle.preStop.sleep.seconds
    assert.isAtLeast(spec.template.spec.terminationGracePeriodSeconds, pause + 30 + 5)
    assert.strictEqual(spec.strategy.rollingUpdate.maxUnavailable, 0)
  })

  it("mounts a settings file that the gateway takes", () => {
    const config = decode("ConfigMap", ConfigMap)
    const { decoded } = decodeConfig("tollgate.yaml", config.data["tollgate.yaml"], {})
    assert.isTrue(Result.isSuccess(decoded))
  })

  it("scales the deployment by what limits it, and never below what may be away", () => {
    const scaler = decode("HorizontalPodAutoscaler", Scaler)
    assert.deepStrictEqual(scaler.spec.scaleTargetRef, { apiVersion: "apps/v1", kind: "Deployment", name: "tollgate" })
    const { spec } = decode("PodDisruptionBudget", DisruptionBudget)
    assert.isBelow(spec.maxUnavailable, scaler.spec.minReplicas)
  })

  it("holds no secret", () => {
    for (const file of readdirSync("deploy/kubernetes")) {
      const text = readFileSync(`deploy/kubernetes/${file}`, "utf8").replaceAll(/^#.*$/gm, "")
      assert.notMatch(text, /password|sk-|postgres:\/\/|redis(?:s)?:\/\//i, file)
    }
  })
})

describe("Dockerfile", () => {
  it("runs the Node that .nvmrc pins, in every stage", () => {
    assert.include(dockerfile, `ARG NODE_VERSION=${readFileSync(".nvmrc", "utf8").trim()}\n`)
    const stages = dockerfile.match(/^FROM .*$/gm)
    assert.deepStrictEqual(stages, [
      "FROM node:${NODE_VERSION}-slim AS packages",
      "FROM node:${NODE_VERSION}-slim AS console",
      "FROM node:${NODE_VERSION}-slim"
    ])
  })

  it("leaves root before anything runs, and runs no install script", () => {
    assert.isBelow(dockerfile.indexOf("USER node"), dockerfile.indexOf("CMD "))
    assert.match(dockerfile, /npm ci --omit=dev .*--ignore-scripts/)
  })

  it("gives Node the flags that scripts/start gives it", () => {
    const flags = readFileSync("scripts/node-flags", "utf8").trim().split("\n")
    assert.include(dockerfile, `CMD ${JSON.stringify(["node", ...flags, "src/main.ts"]).replaceAll(",", ", ")}`)
    const arenas = /MALLOC_ARENA_MAX=(?:\$\{MALLOC_ARENA_MAX:-)?(\d+)/
    assert.strictEqual(arenas.exec(dockerfile)?.[1], arenas.exec(readFileSync("scripts/start", "utf8"))?.[1])
  })

  it("copies only what exists and is not ignored", () => {
    const ignored = readFileSync(".dockerignore", "utf8").trim().split("\n")
    const copied = [...dockerfile.matchAll(/^COPY (?!--)(.*) \S+$/gm)].flatMap((line) => (line[1] ?? "").split(" "))
    assert.includeMembers(copied, ["package.json", "package-lock.json", "src", "scripts/healthcheck.ts"])
    for (const path of copied) {
      assert.isTrue(existsSync(path), path)
      assert.notInclude(ignored, path)
    }
  })
})

/** Runs the health check against a port. */
const healthcheck = (port: number) =>
  new Promise<{ code: number; stderr: string }>((done) => {
    const env = { ...process.env, TOLLGATE_PORT: String(port) }
    const child = execFile(process.execPath, ["scripts/healthcheck.ts"], { env }, (_error, _stdout, stderr) =>
      done({ code: child.exitCode ?? -1, stderr })
    )
  })

/** A server that answers every request with a status and its path, for the time of `use`. */
const withServer = async <A>(status: number, use: (port: number) => Promise<A>) => {
  const paths: Array<string | undefined> = []
  const server = createServer((request, response) => {
    paths.push(request.url)
    response.writeHead(status).end()
  })
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done))
  const { port } = server.address() as AddressInfo
  const result = await use(port)
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  return { result, paths, port }
}

describe("scripts/healthcheck", () => {
  it("exits 0 when the gateway is ready", async () => {
    const { result, paths } = await withServer(200, healthcheck)
    assert.deepStrictEqual(result, { code: 0, stderr: "" })
    assert.deepStrictEqual(paths, ["/health/ready"])
  })

  it("exits 1 when it is not, and when nothing listens", async () => {
    const { result, port } = await withServer(503, healthcheck)
    assert.deepStrictEqual(result, { code: 1, stderr: "not ready: status 503\n" })
    assert.deepStrictEqual(await healthcheck(port), { code: 1, stderr: "not ready: fetch failed\n" })
  })
})
