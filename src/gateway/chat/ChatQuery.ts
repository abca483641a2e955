/** A chat request as the edge passes it on, whichever API it came by. */
import { type ChatRequest } from "../../domain/Chat.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { type SentKey } from "../idempotency/Idempotency.ts"
import { type CacheControl } from "../request/CacheControl.ts"
import { type Caller } from "../request/Caller.ts"
import { type ClientDeadline } from "../request/ClientDeadline.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { type RequestOrigin } from "../request/RequestOrigin.ts"
import { type RequestTrace } from "../telemetry/RequestTrace.ts"

export interface ChatQuery {
  readonly request: ChatRequest
  readonly caller: Caller
  readonly cacheControl: CacheControl
  readonly idempotencyKey?: SentKey | null
  readonly deadline?: ClientDeadline | null
  /** The conversation's name in a header. */
  readonly sessionId?: string | null
  readonly trace?: RequestTrace | null
  /** The client's request in its own form, for providers of the same API. */
  readonly native?: NativeRequest
  /** Members of the client's request that the chat request leaves out. */
  readonly dropped?: ReadonlyArray<string>
  /** The client sends the reply's reasoning back with its signature. */
  readonly keepsReasoning?: boolean
  readonly origin?: RequestOrigin
  /** Records what the edge shows of the request. */
  readonly note: Note
}
