/**
 * Previews the masking of texts, with the code that masks requests. A preview counts as a request
 * of the key's rate limit.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { type ChatMessage } from "../../domain/Chat.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { Ids } from "../../domain/Ids.ts"
import { withScope } from "../../domain/runtime/OnClose.ts"
import { type KeyPrivacy } from "../../domain/Privacy.ts"
import { countsOf, type Finding } from "../privacy/Masking.ts"
import { PrivacyGuard, unsearched } from "../privacy/PrivacyGuard.ts"
import { type Caller } from "../request/Caller.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { Policy } from "./Policy.ts"

export interface PreviewQuery {
  readonly text: string | null
  readonly messages: ReadonlyArray<ChatMessage> | null
  /** Names of entities and of the operator's patterns. Null: those that are configured. */
  readonly entities: ReadonlyArray<string> | null
  /** Null: the mode of the key. */
  readonly mode: KeyPrivacy | null
  readonly caller: Caller
  readonly note: Note
}

export interface Preview {
  readonly maskedText: string | null
  readonly messages: ReadonlyArray<ChatMessage> | null
  readonly findings: ReadonlyArray<Finding>
  readonly counts: Readonly<Record<string, number>>
  readonly wouldBlock: boolean
  readonly policyVersion: string
}

export class PrivacyPreview extends Context.Service<
  PrivacyPreview,
  {
    readonly of: (query: PreviewQuery) => Effect.Effect<Preview, GatewayError, Scope.Scope>
    /** The names that `entities` may have. */
    readonly types: ReadonlyArray<string>
  }
>()("tollgate/gateway/chat/PrivacyPreview") {
  static readonly layer = Layer.effect(
    PrivacyPreview,
    Effect.gen(function* () {
      const policy = yield* Policy
      const guard = yield* PrivacyGuard
      const ids = yield* Ids

      const of = Effect.fnUntraced(function* ({ caller, entities, messages, mode, note, text }: PreviewQuery) {
        const nowMs = yield* Clock.currentTimeMillis
        const arrival = { generationId: ids.next("prv", nowMs), caller, tokens: 0, trace: null, note }
        yield* withScope((scope) => policy.rateLimit({ ...arrival, scope }))
        const result = yield* guard.search({ text, messages }, entities)
        if (result === null) return yield* unsearched
        return {
          maskedText: result.value.text,
          messages: result.value.messages,
          findings: result.findings,
          counts: countsOf(result.findings),
          wouldBlock: (mode ?? guard.modeFor(caller.key)) === "block" && result.findings.length > 0,
          policyVersion: guard.policyVersion
        } satisfies Preview
      })

      return PrivacyPreview.of({ of, types: guard.types })
    })
  )
}
