/**
 * A metered request as it was planned: who asks for what, who may serve it and how long it may take. A plan never changes. The privacy
 * guard answers another plan, with the masked request and its tokens, and everything after it works with that one.
 */
import { type Candidate, type Exclusion } from "../../domain/Catalog.ts"
import { type ChatRequest } from "../../domain/Chat.ts"
import { type EmbeddingRequest } from "../../domain/Embedding.ts"
import { type GatewayError } from "../../domain/Errors.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"
import { type Caller } from "./Caller.ts"
import { type ClientDeadline } from "./ClientDeadline.ts"

export interface RequestPlan<Request = ChatRequest | EmbeddingRequest> {
  readonly kind: "chat" | "embeddings"
  readonly generationId: string
  readonly caller: Caller
  /** As it is sent to providers. */
  readonly request: Request
  /** As the client named it, or its full id once that is known. */
  readonly model: string
  /** Who may serve it, best first; empty when nobody may. */
  readonly ranked: ReadonlyArray<Candidate>
  readonly excluded: ReadonlyArray<Exclusion>
  /** What a request that nobody may serve ends with, once the policies have let it through. */
  readonly unroutable: GatewayError | null
  readonly startedAtMs: number
  /** The UTC month in which the request began, and by which it is billed. */
  readonly month: string
  /** Of `request`. */
  readonly promptTokens: number
  /** Completion tokens that the client allows for all choices together; `null`: it did not say. */
  readonly outputTokens: number | null
  /** How many choices were asked for. */
  readonly choices: number
  readonly streamed: boolean
  /** `null`: the client did not say. */
  readonly deadline: ClientDeadline | null
  /** Its spans; null: it is not traced. */
  readonly trace: RequestTrace | null
}

/** The candidate of the plan that goes by these names. */
export const rankedAs = (
  { ranked }: Pick<RequestPlan<unknown>, "ranked">,
  provider: string,
  model: string
): Candidate | undefined =>
  ranked.find((candidate) => candidate.provider.slug === provider && candidate.offer.id === model)
