/** Every import rule broken once in a small tree, and a clean tree. */
import { assert, describe, it } from "@effect/vitest"
import { checkImports } from "../../scripts/importRules.ts"
import { parseSource } from "../../scripts/sourceFiles.ts"

/** The checker's breaches in a tree of files, as `path:line rule`. */
const check = (tree: Readonly<Record<string, string>>) =>
  checkImports(Object.entries(tree).map(([path, text]) => parseSource(path, text)))

const shown = (tree: Readonly<Record<string, string>>) =>
  check(tree).map((breach) => `${breach.path}:${breach.line} ${breach.rule}`)

const clean = {
  "src/main.ts": `import { Layer } from "effect"
import { Observability } from "./Observability.ts"
import { Start } from "./Start.ts"
export const run = Layer.mergeAll(Start.layer, Observability.layer)`,
  "src/Start.ts": `import * as KeyRepoMemory from "./store/keys/KeyRepoMemory.ts"
const server = import("./Server.ts")
export const Start = { layer: [KeyRepoMemory.layer, server] }`,
  "src/Server.ts": `import { PgClient } from "@effect/sql-pg"
import { Chat } from "./http/endpoints/Chat.ts"
import { Providers } from "./providers/Providers.ts"
import * as KeyRepoMemory from "./store/keys/KeyRepoMemory.ts"
export const Server = { layer: [Chat.layer, Providers.layer, KeyRepoMemory.layer, PgClient.layer] }`,
  "src/Observability.ts": `import { Settings } from "./Settings.ts"
export const Observability = { layer: Settings }`,
  "src/Settings.ts": `import { Config } from "effect"
import { presets } from "./providers/presets/presets.ts"
import { type Key } from "./domain/Key.ts"
export const Settings = [process.env, Config, presets] as ReadonlyArray<Key>`,
  "src/domain/Key.ts": `import { Schema } from "effect"
import * as Option from "effect/Option"
export type Key = Schema.Schema<Option.Option<string>>`,
  "src/api/Chat.ts": `import { HttpApiGroup } from "effect/http-api"
import { type Key } from "../domain/Key.ts"
export const Chat: Key = HttpApiGroup`,
  "src/http/endpoints/Chat.ts": `import { HttpServerResponse } from "effect/http"
import { Chat as Group } from "../../api/Chat.ts"
import { Completion } from "../../gateway/chat/Completion.ts"
export class Chat { static readonly layer = [HttpServerResponse, Group, Completion]
  static readonly layerTest = Chat.layer }`,
  "src/gateway/chat/Completion.ts": `import { hash } from "node:crypto"
import { Provider } from "../../providers/Provider.ts"
import { KeyRepo } from "../../store/keys/KeyRepo.ts"
export const Completion = [hash, Provider, KeyRepo]`,
  "src/providers/Provider.ts": "export const Provider = 1",
  "src/providers/Providers.ts": `import { Provider } from "./Provider.ts"
export const Providers = { layer: Provider }`,
  "src/providers/transport/Transport.ts": `import { Pool } from "undici"
export const Transport = Pool`,
  "src/providers/presets/presets.ts": "export const presets = []",
  "src/store/keys/KeyRepo.ts": "export class KeyRepo {}",
  "src/console/main.tsx": `import { render } from "preact"
import { type Chat } from "../api/Chat.ts"
import { page } from "./page.tsx"
render(page as Chat)`,
  "src/console/page.tsx": `import { useState } from "preact/hooks"
export const page = useState`,
  "src/store/keys/KeyRepoMemory.ts": `import { PgClient } from "@effect/sql-pg"
import { KeyRepo } from "./KeyRepo.ts"
export const layer = [PgClient, KeyRepo]`
}

describe("checkImports", () => {
  it("finds nothing in a clean tree, type-only circles included", () => {
    assert.deepStrictEqual(shown(clean), [])
  })

  const broken: ReadonlyArray<readonly [title: string, path: string, text: string, expected: string]> = [
    ["main imports a zone", "src/main.ts", `import { Key } from "./domain/Key.ts"`, "src/main.ts:1 zone"],
    ["Server imports main", "src/Server.ts", `import { type run } from "./main.ts"`, "src/Server.ts:1 zone"],
    ["settings import a dialect", "src/Settings.ts", `import "./providers/Provider.ts"`, "src/Settings.ts:1 zone"],
    [
      "settings import the store",
      "src/settings/File.ts",
      `import "../store/keys/KeyRepo.ts"`,
      "src/settings/File.ts:1 zone"
    ],
    [
      "telemetry imports the gateway",
      "src/Observability.ts",
      `\nimport "./gateway/chat/Completion.ts"`,
      "src/Observability.ts:2 zone"
    ],
    ["domain imports a zone", "src/domain/Key.ts", `import "../api/Chat.ts"`, "src/domain/Key.ts:1 zone"],
    ["domain imports effect/http", "src/domain/Key.ts", `import "effect/http"`, "src/domain/Key.ts:1 package"],
    [
      "domain imports a type of effect/sql",
      "src/domain/Key.ts",
      `import { type A } from "effect/sql"`,
      "src/domain/Key.ts:1 package"
    ],
    ["domain imports a built-in", "src/domain/Key.ts", `import "node:fs"`, "src/domain/Key.ts:1 package"],
    [
      "api imports http",
      "src/api/Chat.ts",
      `import { type Chat } from "../http/endpoints/Chat.ts"`,
      "src/api/Chat.ts:1 zone"
    ],
    ["api imports a server package", "src/api/Chat.ts", `import "effect/http/HttpServer"`, "src/api/Chat.ts:1 package"],
    [
      "http imports the store",
      "src/http/endpoints/Chat.ts",
      `import { KeyRepo } from "../../store/keys/KeyRepo.ts"`,
      "src/http/endpoints/Chat.ts:1 zone"
    ],
    [
      "http imports SQL",
      "src/http/endpoints/Chat.ts",
      `import "effect/sql/SqlClient"`,
      "src/http/endpoints/Chat.ts:1 package"
    ],
    [
      "gateway imports the settings",
      "src/gateway/chat/Completion.ts",
      `import { type Settings } from "../../Settings.ts"`,
      "src/gateway/chat/Completion.ts:1 zone"
    ],
    [
      "a new folder of the gateway has no zone",
      "src/gateway/other/One.ts",
      `export {}`,
      "src/gateway/other/One.ts:1 zone"
    ],
    [
      "gateway imports SQL",
      "src/gateway/chat/Completion.ts",
      `import "@effect/sql-pg"`,
      "src/gateway/chat/Completion.ts:1 package"
    ],
    [
      "gateway imports effect/http",
      "src/gateway/chat/Completion.ts",
      `import "effect/http"`,
      "src/gateway/chat/Completion.ts:1 package"
    ],
    [
      "gateway imports the contract",
      "src/gateway/chat/Completion.ts",
      `import "../../api/Chat.ts"`,
      "src/gateway/chat/Completion.ts:1 zone"
    ],
    [
      "gateway imports a dialect",
      "src/gateway/chat/Completion.ts",
      `import { type OpenAi } from "../../providers/transport/Transport.ts"`,
      "src/gateway/chat/Completion.ts:1 zone"
    ],
    [
      "gateway imports a store's inside",
      "src/gateway/chat/Completion.ts",
      `export * from "../../store/keys/KeyRepoMemory.ts"`,
      "src/gateway/chat/Completion.ts:1 zone"
    ],
    [
      "providers import the store",
      "src/providers/Provider.ts",
      `import "../store/keys/KeyRepo.ts"`,
      "src/providers/Provider.ts:1 zone"
    ],
    [
      "providers import the gateway",
      "src/providers/Provider.ts",
      `import { type Completion } from "../gateway/chat/Completion.ts"`,
      "src/providers/Provider.ts:1 zone"
    ],
    [
      "a dialect calls out",
      "src/providers/Provider.ts",
      `import { request } from "node:https"`,
      "src/providers/Provider.ts:1 outbound"
    ],
    [
      "store imports providers",
      "src/store/keys/KeyRepo.ts",
      `import "../../providers/Provider.ts"`,
      "src/store/keys/KeyRepo.ts:1 zone"
    ],
    ["store imports HTTP", "src/store/keys/KeyRepo.ts", `import "effect/http"`, "src/store/keys/KeyRepo.ts:1 package"],
    [
      "src imports a test",
      "src/store/keys/KeyRepo.ts",
      `import "../../../test/support/Postgres.ts"`,
      "src/store/keys/KeyRepo.ts:1 zone"
    ],
    [
      "a file that is none",
      "src/store/keys/KeyRepo.ts",
      `import "../Nothing.ts"`,
      "src/store/keys/KeyRepo.ts:1 missing"
    ],
    ["an unknown zone", "src/shed/Tool.ts", "export const tool = 1", "src/shed/Tool.ts:1 zone"],
    [
      "a dynamic import",
      "src/providers/Provider.ts",
      `export const load = () => import("../store/keys/KeyRepo.ts")`,
      "src/providers/Provider.ts:1 zone"
    ],
    [
      "another file's layer",
      "src/gateway/chat/Completion.ts",
      `import { Providers } from "../../providers/Providers.ts"\nexport const all = [Providers.layerTest]`,
      "src/gateway/chat/Completion.ts:2 layers"
    ],
    [
      "a port imports its implementation",
      "src/store/keys/KeyRepo.ts",
      `import { make } from "./KeyRepoSql.ts"\nexport const all = make`,
      "src/store/keys/KeyRepo.ts:1 missing"
    ],
    [
      "a port knows its database",
      "src/store/keys/KeyRepo.ts",
      `import "effect/sql"`,
      "src/store/keys/KeyRepo.ts:1 package"
    ],
    [
      "another file's layer by name",
      "src/store/keys/KeyRepoSql.ts",
      `import { layerPostgres } from "./KeyRepoMemory.ts"\nexport const all = layerPostgres`,
      "src/store/keys/KeyRepoSql.ts:1 layers"
    ],
    [
      "process.env",
      "src/gateway/chat/Completion.ts",
      `export const home = process.env["HOME"]`,
      "src/gateway/chat/Completion.ts:1 environment"
    ],
    [
      "Config",
      "src/store/keys/KeyRepo.ts",
      `import { Config } from "effect"\nexport const a = Config`,
      "src/store/keys/KeyRepo.ts:1 environment"
    ]
  ]
  for (const [title, path, text, expected] of broken) {
    it(`reports: ${title}`, () => {
      assert.deepStrictEqual(shown({ ...clean, [path]: text }), [expected])
    })
  }

  const foreign: ReadonlyArray<readonly [folder: string, target: string]> = [
    ["billing", "routing/AttemptLog"],
    ["routing", "billing/Meter"],
    ["routing", "signin/Portal"],
    ["chat", "signin/Portal"],
    ["chat", "keys/ApiKeys"],
    ["cache", "billing/Meter"],
    ["idempotency", "cache/CacheKey"],
    ["privacy", "chat/Policy"],
    ["request", "routing/AttemptLog"],
    ["request", "telemetry/TraceContent"],
    ["health", "request/RequestPlan"],
    ["signin", "chat/Completion"],
    ["signin", "billing/Meter"],
    ["keys", "signin/Portal"],
    ["telemetry", "routing/Router"],
    ["admin", "chat/Completion"]
  ]
  for (const [folder, target] of foreign) {
    it(`keeps gateway/${folder} away from ${target}`, () => {
      const tree = {
        [`src/gateway/${folder}/One.ts`]: `import { type A } from "../${target}.ts"\nexport type B = A`,
        [`src/gateway/${target}.ts`]: `export type A = 1`
      }
      assert.deepStrictEqual(shown(tree), [`src/gateway/${folder}/One.ts:1 zone`])
    })
  }

  it("reports a circle once, from its first file", () => {
    const tree = {
      "src/domain/C.ts": `import "./A.ts"`,
      "src/domain/B.ts": `import "./C.ts"`,
      "src/domain/A.ts": `import "./B.ts"`
    }
    assert.deepStrictEqual(
      check(tree).map((breach) => breach.message),
      ["imports go in a circle: src/domain/A.ts -> src/domain/B.ts -> src/domain/C.ts -> src/domain/A.ts"]
    )
  })

  it("gives the reason with the breach", () => {
    const [breach] = check({ ...clean, "src/gateway/chat/Completion.ts": `import "effect/sql"` })
    assert.strictEqual(
      breach?.message,
      `gateway/chat must not import "effect/sql": the gateway knows the domain and the ports of providers, store and identity; chat puts the steps of a request together; keys and people are looked up before`
    )
  })

  it("refuses a file that does not parse", () => {
    assert.throws(() => parseSource("src/domain/A.ts", "const = 1"), /src\/domain\/A\.ts:1 does not parse/)
  })
})
