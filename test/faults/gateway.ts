/**
 * The whole gateway in front of scripted providers that are real servers: its HTTP edge, its
 * router, the OpenAI dialect and the transport, with memory stores and the real clock. A test says
 * what each provider does and checks what the client gets.
 *
 * ```ts
 * const providers = { alpha: { does: { status: 500 } }, beta: { does: answering(mode) } }
 * const gateway = yield* behind(upstream(), providers)
 * const reply = yield* gateway.ask(mode)
 * ```
 *
 * Tests of what a client reads run on each surface, with `behindOn`. Tests of which provider is
 * called and when run on chat completions alone: all surfaces have one router.
 */
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { type ModelOffer, type ProviderConfig, type Timeouts, unknownPolicy } from "../../src/domain/Catalog.ts"
import { type UsageInfo } from "../../src/domain/Chat.ts"
import { picoFromUsdPerMillion, type Pricing } from "../../src/domain/pricing/Money.ts"
import { Circuits } from "../../src/gateway/health/Circuits.ts"
import { type SettingsShape } from "../../src/Settings.ts"
import { chatSurface, type Surface } from "../support/surfaces.ts"
import { openStream, type Streaming } from "../support/GatewayHttp.ts"
import { TestApp } from "../support/TestApp.ts"
import { chatBody, streamChunks, type UsageCounts } from "../support/upstream/Bodies.ts"
import { type Behaviour, type Received } from "../support/upstream/Behaviour.ts"
import { startUpstream, type Upstream } from "../support/upstream/Upstream.ts"

/** JSON, or Server-Sent Events. */
export type Mode = "JSON" | "stream"
export const modes: ReadonlyArray<Mode> = ["JSON", "stream"]

export interface Member {
  readonly does: Behaviour | ReadonlyArray<Behaviour>
  /** Replaces the scripted upstream's URL. */
  readonly baseUrl?: string
  readonly timeouts?: Partial<Timeouts>
  /** The ids of its models, `test/small` alone by default. All behave the same. */
  readonly models?: ReadonlyArray<string>
  readonly prefill?: boolean
  /** The number of its keys, `sk-alpha-1` and so on. One by default, `sk-alpha`. */
  readonly keys?: number
  /** In USD per million prompt tokens. More than that of the provider before it by default. */
  readonly price?: number
  /** All prices, instead of `price`. */
  readonly pricing?: Pricing
  /** `openai` by default. */
  readonly dialect?: ProviderConfig["dialect"]
  /** Chat completions by default. */
  readonly api?: ModelOffer["api"]
  /**
   * The limit of a reply in tokens; ten by default, so that a silent provider is not waited for
   * longer than the limits. Null: unknown.
   */
  readonly maxCompletionTokens?: number | null
  /** Whether requests may refer to objects in the account. */
  readonly accountObjects?: boolean
}

/** The members of a receipt that these tests check. */
export interface Receipt {
  readonly model: string
  readonly provider: string
  readonly usage: UsageInfo
  readonly usage_source: string
  readonly fallback_used: boolean
  readonly cancelled: boolean
  readonly finish_reason: string | null
  readonly error_type: string | null
  readonly sticky?: string
  readonly attempts: ReadonlyArray<Attempted>
  readonly cost: { readonly billed_usd: number }
}

export interface Attempted {
  readonly provider: string
  readonly key?: number
  readonly status: string
  readonly error_type: string | null
  readonly http_status: number | null
}

export interface ErrorEnvelope {
  /** On other surfaces than chat completions: the code. */
  readonly type: string
  readonly message: string
  readonly retryable?: boolean
  readonly retry_after?: number | null
  readonly details: { readonly attempts?: ReadonlyArray<Attempted> }
}

/** An answer of either mode, read as a client would. */
export interface Reply {
  readonly surface: Surface
  readonly status: number
  readonly headers: Headers
  /** The bytes of the body, decoded. */
  readonly text: string
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly content: string
  /** The joined arguments of tool calls, by index. */
  readonly toolArguments: ReadonlyArray<string>
  /** Every finish reason that was sent. */
  readonly finishReasons: ReadonlyArray<string>
  readonly usage: (Partial<UsageInfo> & Pick<UsageInfo, "prompt_tokens" | "completion_tokens">) | undefined
  /** The error of the body or of a chunk. */
  readonly error: ErrorEnvelope | undefined
  /** A stream has come to its proper end, after an error too. */
  readonly isDone: boolean
  /** Null when no generation was made. */
  readonly receipt: Receipt | null
  /** 0 for an answer that the test opened and read itself. */
  readonly tookMs: number
}

export interface Gateway {
  readonly surface: Surface
  readonly app: TestApp["Service"]
  readonly key: string
  readonly ask: (mode: Mode, more?: Readonly<Record<string, unknown>>) => Effect.Effect<Reply>
  /** The same, read as it arrives. Rejects if the connection fails before the headers arrive. */
  readonly open: (mode: Mode, more?: Readonly<Record<string, unknown>>) => Promise<Streaming>
  readonly body: (mode: Mode, more?: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  /** Reads an opened answer to its proper end in HTTP. */
  readonly whole: (answer: Streaming) => Effect.Effect<Reply>
  /** The requests that a provider received, oldest first. */
  readonly calls: (slug: string) => Effect.Effect<ReadonlyArray<Received>>
  /** Waits until a provider has received a request that satisfies `predicate`. */
  readonly called: (slug: string, predicate?: (request: Received) => boolean) => Effect.Effect<Received>
  /** Scripts a provider again. */
  readonly rescript: (slug: string, does: Member["does"]) => Effect.Effect<void>
  readonly circuit: (slug: string) => Effect.Effect<string>
  /** The key's generations, newest first. */
  readonly receipts: Effect.Effect<ReadonlyArray<Receipt>>
}

/** Limits that a healthy provider never meets, even on a busy machine. */
const patient: Timeouts = {
  connectMs: 5_000,
  firstByteMs: 20_000,
  firstTokenMs: 20_000,
  idleMs: 20_000,
  totalMs: 25_000
}

/** Limits for tests of silent providers. */
export const quick: Partial<Timeouts> = { firstByteMs: 300, firstTokenMs: 300, idleMs: 300, totalMs: 300 }

/** The upstream of a test file: started before its first test, stopped after its last. */
export const useUpstream = (): (() => Upstream) => {
  let upstream: Upstream | undefined
  beforeAll(async () => {
    upstream = await startUpstream()
  })
  afterAll(() => upstream?.stop())
  return () => {
    if (upstream === undefined) throw new Error("the upstream is there once the tests run")
    return upstream
  }
}

/** A good answer. As a stream, its text arrives in three pieces. */
export const answering = (mode: Mode, text = "Hello from the other side", usage: UsageCounts | null = healthy) =>
  ({
    JSON: { json: chatBody({ content: text, usage }) },
    stream: { chunks: streamChunks([text.slice(0, 4), text.slice(4, 9), text.slice(9)], usage) }
  })[mode] satisfies Behaviour

/** The usage that `answering` reports. */
export const healthy = { prompt_tokens: 11, completion_tokens: 7 }

let made = 0

/** Makes a gateway with providers, each more expensive than the one before it. */
export const behindOn = (surface: Surface) =>
  Effect.fnUntraced(function* (
    upstream: Upstream,
    members: Readonly<Record<string, Member>>,
    tierOf: "enterprise" | "free" = "enterprise",
    settings: Partial<SettingsShape> = {}
  ): Effect.fn.Return<Gateway, never, Scope.Scope> {
    const run = made++
    const nameOf = (slug: string): string => `${slug}-${run}`
    const rescript = (slug: string, does: Member["does"]) => Effect.promise(() => upstream.script(nameOf(slug), does))
    const providers: Array<ProviderConfig> = []
    for (const [
      slug,
      {
        accountObjects = false,
        api = "chat",
        baseUrl,
        dialect = "openai",
        does,
        keys,
        maxCompletionTokens = 10,
        models,
        prefill,
        price = providers.length + 1,
        pricing = {
          prompt: picoFromUsdPerMillion(price),
          completion: picoFromUsdPerMillion(2 * price),
          cachedPrompt: null
        },
        timeouts
      }
    ] of Object.entries(members)) {
      yield* rescript(slug, does)
      const apiKeys = Array.from({ length: keys ?? 0 }, (_, index) => Redacted.make(`sk-${slug}-${index + 1}`))
      providers.push({
        slug,
        name: slug,
        dialect,
        baseUrl: baseUrl ?? upstream.url,
        apiKey: apiKeys[0] ?? Redacted.make(`sk-${slug}`),
        ...(apiKeys.length === 0 ? {} : { apiKeys }),
        auth: { type: "bearer" },
        headers: {},
        query: {},
        accountObjects,
        dataPolicy: unknownPolicy,
        timeouts: { ...patient, ...timeouts },
        models: (models ?? ["test/small"]).map((id) => ({
          id,
          upstream: nameOf(slug),
          contextLength: null,
          maxCompletionTokens,
          pricing,
          embeddings: false,
          prefill: prefill ?? false,
          hidesReasoning: false,
          api
        }))
      })
    }
    const built = yield* Effect.orDie(Layer.build(TestApp.layer({ settings: { ...settings, providers } })))
    const app = Context.get(built, TestApp)
    const circuits = Context.get(built, Circuits)
    const { secret: key } = yield* app.issueKey({ tier: tierOf })

    const body = (mode: Mode, more: Readonly<Record<string, unknown>> = {}) => ({
      ...surface.body({ text: "Hello?", stream: mode === "stream" }),
      ...more
    })
    // A request of a test must not get the cached answer of another.
    const headers = { "cache-control": "no-store" }
    const named = (slug: string) => (requests: ReadonlyArray<Received>) =>
      requests.filter(({ model }) => model === nameOf(slug))

    const receiptOf = (id: string | null) =>
      id === null
        ? Effect.succeed(null)
        : Effect.map(app.send(`/v1/generations/${id}`, { key }), ({ status, text }) =>
            status === 200 ? (JSON.parse(text) as Receipt) : null
          )

    const open: Gateway["open"] = (mode, more) =>
      openStream(`${app.url}${surface.path}`, { key, body: body(mode, more), headers })

    return {
      surface,
      app,
      key,
      body,
      rescript,
      open,
      whole: Effect.fnUntraced(function* ({ ended, headers, status }) {
        const text = yield* Effect.promise(() => ended)
        const sent = new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]))
        const receipt = yield* receiptOf(sent.get("x-generation-id"))
        return { ...readOn(surface, text, sent), status, headers: sent, receipt, tookMs: 0 }
      }),
      ask: Effect.fnUntraced(function* (mode, more) {
        const startedAtMs = performance.now()
        const answered = yield* app.send(surface.path, { body: body(mode, more), key, headers })
        const tookMs = performance.now() - startedAtMs
        const receipt = yield* receiptOf(answered.headers.get("x-generation-id"))
        return {
          ...readOn(surface, answered.text, answered.headers),
          status: answered.status,
          headers: answered.headers,
          receipt,
          tookMs
        }
      }),
      calls: (slug) =>
        Effect.map(
          Effect.promise(() => upstream.requests()),
          named(slug)
        ),
      called: (slug, predicate = () => true) =>
        Effect.promise(() => upstream.until((requests) => named(slug)(requests).some(predicate))).pipe(
          Effect.map((requests) => named(slug)(requests).find(predicate)),
          Effect.flatMap((request) =>
            request === undefined ? Effect.die(new Error("it was there a moment ago")) : Effect.succeed(request)
          )
        ),
      circuit: (slug) =>
        Effect.suspend(() => {
          const provider = providers.find((each) => each.slug === slug)
          const [offer] = provider?.models ?? []
          return provider === undefined || offer === undefined
            ? Effect.die(new Error(`no provider ${slug}`))
            : Effect.map(circuits.state({ provider, offer }), ({ state }) => state)
        }),
      receipts: Effect.map(
        Effect.suspend(() => app.send("/v1/generations", { key })),
        ({ text }) => (JSON.parse(text) as { readonly data: ReadonlyArray<Receipt> }).data
      )
    }
  })

/** As `behindOn`, with clients of chat completions. */
export const behind = behindOn(chatSurface)

/** What a client has read of an answer. */
type Read = Omit<Reply, "status" | "headers" | "receipt" | "tookMs" | "surface">

const readOn = (
  surface: Surface,
  text: string,
  headers: Headers
): Omit<Reply, "status" | "headers" | "receipt" | "tookMs"> => {
  if (surface === chatSurface) return { surface, ...read(text) }
  const { error, isWhole, model, text: content, tokens, toolArguments } = surface.read(text)
  const isStream = !text.startsWith("{")
  if (isStream) surface.assertStream(text)
  return {
    surface,
    text,
    model,
    provider: headers.get("x-tollgate-provider") ?? undefined,
    content,
    toolArguments,
    finishReasons: isWhole ? ["stop"] : error === undefined ? [] : ["error"],
    usage: tokens === undefined ? undefined : { prompt_tokens: tokens[0], completion_tokens: tokens[1] },
    error: error === undefined ? undefined : { type: error.code, message: error.message, details: error.details },
    isDone: isStream && (isWhole || error !== undefined)
  }
}

interface WireChoice {
  readonly message?: WireMessage
  readonly delta?: WireMessage
  readonly finish_reason: string | null
}

interface WireMessage {
  readonly content?: string | null
  readonly tool_calls?: ReadonlyArray<{ readonly index?: number; readonly function?: { readonly arguments?: string } }>
}

interface WireBody {
  readonly model?: string
  readonly provider?: string
  readonly choices?: ReadonlyArray<WireChoice>
  readonly usage?: UsageInfo
  readonly error?: ErrorEnvelope
}

/** Reads a body, or the chunks of a stream. */
export const read = (text: string): Read => {
  const isStream = text.startsWith("data:") || text.startsWith(":")
  const data = isStream
    ? text
        .split("\n\n")
        .filter((block) => block.startsWith("data: "))
        .map((block) => block.slice(6))
    : [text]
  const bodies = data.filter((each) => each !== "[DONE]" && each !== "").map((each) => JSON.parse(each) as WireBody)
  const choices = bodies.flatMap((each) => each.choices ?? [])
  const messages = choices.map(({ delta, message }) => message ?? delta ?? {})
  const toolArguments: Array<string> = []
  for (const call of messages.flatMap((message) => message.tool_calls ?? [])) {
    const at = call.index ?? toolArguments.length
    toolArguments[at] = (toolArguments[at] ?? "") + (call.function?.arguments ?? "")
  }
  return {
    text,
    model: bodies[0]?.model,
    provider: bodies[0]?.provider,
    content: messages.map(({ content }) => content ?? "").join(""),
    toolArguments,
    finishReasons: choices.flatMap(({ finish_reason: reason }) => (reason === null ? [] : [reason])),
    usage: bodies.findLast((each) => Boolean(each.usage))?.usage,
    error: bodies.find((each) => each.error !== undefined)?.error,
    isDone: data.at(-1) === "[DONE]"
  }
}
