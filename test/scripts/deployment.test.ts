/**
 * The container files: privileges, secrets and start order, and the health check against real
 * servers.
 */
import { execFile } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
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
  command: Schema.optional(Strings),
  image: Schema.String,
  volumes: Schema.optional(Strings),
  mem_limit: Schema.String,
  pids_limit: Schema.Finite,
  restart: Schema.String,
  logging: Schema.Struct({ options: Schema.Record(Schema.String, Schema.String) })
})
const Compose = Schema.Struct({
  services: Schema.Struct({
    gateway: Service,
    postgres: Service,
    redis: Service,
    balancer: Service,
    backup: Service,
    collector: Service,
    tempo: Service,
    prometheus: Service,
    grafana: Service
  }),
  networks: Schema.Struct({
    front: Schema.Struct({
      ipam: Schema.Struct({ config: Schema.Tuple([Schema.Struct({ subnet: Schema.String })]) })
    }),
    back: Schema.Struct({ internal: Schema.Literal(true) })
  })
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

// The tags control how `extends` merges; the values after them are data.
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

    it(`bounds what ${name} takes of the machine, and names its image exactly`, () => {
      assert.match(service.mem_limit, /^\d+[mg]$/)
      assert.isAtMost(service.pids_limit, 256)
      assert.deepStrictEqual(service.logging.options, { "max-size": "20m", "max-file": "5" })
      assert.strictEqual(service.restart, "unless-stopped")
      assert.match(service.image, /:v?\d+\.\d+/)
    })
  }

  it("runs the gateway as production, with a settings file that the gateway takes", () => {
    assert.strictEqual(services.gateway.environment["TOLLGATE_ENV"], "production")
    const mounted = "./deploy/compose/tollgate.yaml:/etc/tollgate/tollgate.yaml:ro"
    assert.include(services.gateway.volumes ?? [], mounted)
    assert.strictEqual(services.gateway.environment["TOLLGATE_CONFIG"], "/etc/tollgate/tollgate.yaml")
    const text = readFileSync("deploy/compose/tollgate.yaml", "utf8")
    assert.isTrue(Result.isSuccess(decodeConfig("tollgate.yaml", text, {}).decoded))
    // The load balancer's network is the one that the gateway trusts.
    assert.include(text, `trusted_proxies: [${networks.front.ipam.config[0].subnet}]`)
  })

  it("has no secret of its own: each is required from the environment", () => {
    const secrets = Object.values(services)
      .flatMap((service) => Object.entries(service.environment))
      .filter(([name, value]) => value !== null && /KEY|PASSWORD|REDISCLI_AUTH|_URL/.test(name))
    assert.strictEqual(secrets.length, 7)
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
    assert.deepStrictEqual(services.gateway.ports, ["${TOLLGATE_PUBLISH:-127.0.0.1:8787}:8787"])
  })
})

describe("several gateways behind a balancer", () => {
  const { several } = Schema.decodeUnknownSync(Several)(compose).services

  it("are the gateway's twins but for what only one of them can have", () => {
    assert.deepStrictEqual(several.extends, { service: "gateway" })
    assert.deepStrictEqual(several.ports, [])
    assert.deepStrictEqual(several.volumes, ["./deploy/compose/tollgate.yaml:/etc/tollgate/tollgate.yaml:ro"])
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

  it("are told the client's address, and show administration and metrics on the operators' port only", () => {
    const conf = readFileSync("deploy/nginx.conf", "utf8")
    assert.match(conf, /proxy_set_header X-Forwarded-For \$remote_addr;/)
    const [, clients = "", operators = ""] = conf.split(/^ {2}server \{$/m)
    const hidden = new RegExp(/location ~\* (\S+) \{ return 404; \}/.exec(clients)?.[1] ?? "^$", "i")
    for (const path of ["/metrics", "/v1/admin/overview", "/v1/keys", "/V1/Keys", "/v1//keys/key_1", "/v1/admin"]) {
      assert.match(path, hidden)
    }
    for (const path of ["/v1/key", "/v1/chat/completions", "/v1/models", "/v1/portal/keys", "/console", "/auth/me"]) {
      assert.notMatch(path, hidden)
    }
    assert.include(clients, "limit_req zone=sign_in")
    assert.notInclude(operators, "return 404")
    assert.include(services.balancer.ports ?? [], "${TOLLGATE_PUBLISH_OPERATORS:-127.0.0.1:8781}:8081")
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
    assert.match(dockerfile, /npm ci .*--omit=dev .*--ignore-scripts/)
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

it("the lock file has a checksum of every package but those of development tools for other platforms", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as {
    readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }
  for (const [path, entry] of Object.entries(packages)) {
    // The console's own package is a folder of this repository.
    const isOurs = path === "" || path === "src/console" || entry["link"] === true
    if (isOurs || entry["integrity"] !== undefined) continue
    assert.isTrue(entry["dev"] === true && entry["optional"] === true, path)
    assert.notMatch(path, /linux-x64/)
  }
})

/** Runs the health check against a port. */
const healthcheck = (port: number) =>
  new Promise<{ code: number; stderr: string }>((done) => {
    const env = { ...process.env, TOLLGATE_PORT: String(port) }
    const child = execFile(process.execPath, ["scripts/healthcheck.ts"], { env }, (_error, _stdout, stderr) =>
      done({ code: child.exitCode ?? -1, stderr })
    )
  })

/** A server that answers every request with a status and records its path, during `use`. */
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
