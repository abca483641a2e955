/**
 * The plan of a metered request: its caller, content, candidates and deadline. A plan never
 * changes. The privacy guard returns another plan, with the masked request and its tokens, and
 * everything after it works with that plan.
 */
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { type PromptTokens } from "../../domain/PromptTokens.ts"
import { type Caller } from "./Caller.ts"
import { type ClientDeadline } from "./ClientDeadline.ts"
import { type Conversation } from "./Conversation.ts"
import { type RequestOrigin } from "./RequestOrigin.ts"

export interface RequestPlan<Request = ChatRequest | EmbeddingRequest> {
  readonly kind: "chat" | "embeddings"
  readonly generationId: string
  readonly caller: Caller
  /** The request as it is sent to providers. */
  readonly request: Request
  /**
   * The client's request in its own form, for the candidates that speak its API. All candidates can
   * be sent the request.
   */
  readonly native?: NativeRequest
  /** The client's name of the model, or its full id once it is resolved. */
  readonly model: string
  /**
   * The client's name of the model if it is not `model`, and the snapshot that it names, or null.
   */
  readonly named?: { readonly as: string; readonly snapshot: string | null }
  /** The candidates, best first; empty if there are none. */
  readonly ranked: ReadonlyArray<Candidate>
  /** The sizes of the groups of `ranked` that rank equally, in order; empty: they are in order. */
  readonly groupSizes: ReadonlyArray<number>
  readonly excluded: ReadonlyArray<Exclusion>
  /** Null: the request has one place to go to, or is no conversation. */
  readonly conversation: Conversation | null
  /** The error of a request without candidates, once it has passed the policies. */
  readonly unroutable: GatewayError | null
  readonly startedAtMs: number
  /** The UTC month in which the request began; it is billed to this month. */
  readonly month: string
  /** The tokens of the prompt of `request`. */
  readonly prompt: PromptTokens
  /** The client's limit of completion tokens, for all choices together; null if it set none. */
  readonly outputTokens: number | null
  /** The number of choices. */
  readonly choices: number
  readonly streamed: boolean
  /** Null: the client set none. */
  readonly deadline: ClientDeadline | null
  /**
   * The client sends the reply's reasoning back with its signature: it stays as the model wrote it,
   * and no other provider continues after it.
   */
  readonly keepsReasoning?: boolean
  /** Numbers of values that the guard masked, by type. Absent: none. */
  readonly masked?: Readonly<Record<string, number>>
  /** Absent: it did not come by HTTP. */
  readonly origin?: RequestOrigin
  /** The request's spans; null: it is not traced. */
  readonly trace: RequestTrace | null
}

/** The candidate with these names. */
export const findCandidate = (
  { ranked }: Pick<RequestPlan<unknown>, "ranked">,
  provider: string,
  model: string
): Candidate | undefined =>
  ranked.find((candidate) => candidate.provider.slug === provider && candidate.offer.id === model)
