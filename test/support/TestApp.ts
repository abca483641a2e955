/**
 * The whole gateway on memory layers and scripted providers, on a port that the system chooses:
 * real HTTP, no database, no network beyond loopback. Ids count up and time is the test's clock, so
 * that whole responses can be compared byte by byte.
 *
 * Use `yield* TestApp` inside a test that is provided with `TestApp.layer({ providers: [...] })`.
 */
import * as CacheMemory from "../../src/store/cache/CacheMemory.ts"
import * as LimitsMemory from "../../src/store/limits/LimitsMemory.ts"
import * as KeyRepoMemory from "../../src/store/keys/KeyRepoMemory.ts"
import { Context, Effect, identity, Layer, Metric, Redacted } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { Ids } from "../../src/domain/Ids.ts"
import { allScopes } from "../../src/domain/Key.ts"
import { ApiKeys, type NewKey } from "../../src/gateway/keys/ApiKeys.ts"
import { type Load } from "../../src/gateway/process/Load.ts"
import * as Edge from "../../src/http/edge/Edge.ts"
import { Listener } from "../../src/http/edge/Listener.ts"
import { layerScripted, type ScriptedProvider } from "../../src/testing/ScriptedProvider.ts"
import { Providers } from "../../src/providers/Providers.ts"
import { Transport } from "../../src/providers/transport/Transport.ts"
import { routes } from "../../src/Routes.ts"
import { gateway, memory, signIn, signInMemory } from "../../src/Server.ts"
import { type SettingsShape } from "../../src/Settings.ts"
import { type KeyRepo } from "../../src/store/keys/KeyRepo.ts"
import { type GenerationStore } from "../../src/store/ledger/GenerationStore.ts"
import { type Ledger } from "../../src/store/ledger/Ledger.ts"
import { type LedgerReports } from "../../src/store/ledger/reports/LedgerReports.ts"
import * as LedgerMemory from "../../src/store/ledger/Memory.ts"
import { onlyDeclared } from "./DeclaredAnswers.ts"
import { testSettings } from "./testSettings.ts"

export interface TestAppOptions {
  /**
   * Scripted providers. By default the settings' own providers serve (the mock, unless overridden).
   */
  readonly providers?: ReadonlyArray<ScriptedProvider>
  readonly settings?: Partial<SettingsShape>
  /** Carries the calls of the settings' providers. Default: HTTP. */
  readonly transport?: Layer.Layer<Transport>
  /** The load of the process. Default: counted as usual. */
  readonly load?: Layer.Layer<Load>
  /** Keys and ledger. Default: in memory. */
  readonly stores?: Layer.Layer<KeyRepo | Ledger | GenerationStore | LedgerReports, unknown>
}

export interface SentRequest {
  readonly method?: string
  /** Sent as JSON, unless it is a string or bytes. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** `authorization: Bearer …`. Null: no header. */
  readonly key?: string | null
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const adminKey = "tga-test-admin-key"

export class TestApp extends Context.Service<
  TestApp,
  {
    readonly url: string
    readonly adminKey: string
    /** Issues a key. Default: an enterprise key with every scope, no cap and no whitelist. */
    readonly issueKey: (key?: Partial<NewKey>) => Effect.Effect<{ readonly id: string; readonly secret: string }>
    /** Sends a request and reads the whole response. */
    readonly send: (path: string, request?: SentRequest) => Effect.Effect<Answered>
    /** `POST /v1/chat/completions`. */
    readonly chat: (body: unknown, request?: SentRequest) => Effect.Effect<Answered>
  }
>()("tollgate/test/TestApp") {
  static readonly layer = (options: TestAppOptions = {}) => {
    const settings: SettingsShape = { ...testSettings, ...options.settings }
    const providers =
      options.providers === undefined
        ? Providers.layer(settings.providers).pipe(Layer.provide(options.transport ?? Transport.layer))
        : layerScripted(options.providers)
    return TestApp.layerWith(settings).pipe(
      Layer.provideMerge(gateway(settings)),
      options.load === undefined ? identity : Layer.provideMerge(options.load),
      Layer.provideMerge(Layer.mergeAll(providers, memory)),
      Layer.provideMerge(
        Layer.mergeAll(
          options.stores === undefined
            ? Layer.merge(KeyRepoMemory.layer, LedgerMemory.layer)
            : Layer.orDie(options.stores),
          LimitsMemory.layer,
          CacheMemory.layer(settings.cache),
          Ids.layerSequence,
          Layer.sync(Metric.MetricRegistry, () => new Map())
        )
      )
    )
  }

  /** The routes on a gateway that the caller makes, with sign-in in memory. */
  static readonly layerWith = (settings: SettingsShape) =>
    Layer.effect(
      TestApp,
      Effect.gen(function* () {
        const server = yield* HttpServer.HttpServer
        const accounts = yield* ApiKeys
        const url = HttpServer.formatAddress(server.address)

        const send = (path: string, { body, headers, key, method }: SentRequest = {}) =>
          Effect.promise(async (signal): Promise<Answered> => {
            const raw = typeof body === "string" || body instanceof Uint8Array
            const response = await fetch(`${url}${path}`, {
              method: method ?? (body === undefined ? "GET" : "POST"),
              signal,
              headers: {
                ...(body === undefined || raw ? {} : { "content-type": "application/json" }),
                ...(typeof key === "string" ? { authorization: `Bearer ${key}` } : {}),
                ...headers
              },
              ...(body === undefined
                ? {}
                : { body: raw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) })
            })
            return { status: response.status, headers: response.headers, text: await response.text() }
          })

        return TestApp.of({
          url,
          adminKey,
          send,
          chat: (body, request) => send("/v1/chat/completions", { body, ...request }),
          issueKey: (key) =>
            accounts
              .issue({
                name: "test",
                tier: "enterprise",
                scopes: allScopes,
                monthlyBudgetNano: null,
                allowedModels: null,
                ownerId: null,
                expiresAtMs: null,
                ...key
              })
              .pipe(
                Effect.map(({ secret, view }) => ({ id: view.key.id, secret: Redacted.value(secret) })),
                Effect.orDie
              )
        })
      })
    ).pipe(
      Layer.provideMerge(
        Layer.effectDiscard(
          HttpRouter.toHttpEffect(routes(settings, Redacted.make(adminKey))).pipe(
            Effect.flatMap(onlyDeclared),
            Effect.flatMap((app) => HttpServer.serveEffect(app)),
            Effect.provideService(HttpRouter.RouterConfig, Edge.routerConfig)
          )
        )
      ),
      Layer.provideMerge(Listener.layerHttp({ host: "127.0.0.1", port: 0, drainTimeoutMs: 20_000 })),
      Layer.provide(Listener.layer({ ...settings.server, graceMs: 0 })),
      Layer.provideMerge(signIn(settings)),
      Layer.provideMerge(signInMemory)
    )
}
