/**
 * What the edge knows of the request it is answering: its id, and the facts that go into headers whatever the ending. The edge sets
 * it up before anything else runs.
 */
import { Context } from "effect"
import { type Share } from "../../gateway/process/Load.ts"
import { emptyResponseMetadata, type ResponseMetadata } from "../../gateway/request/Order.ts"
import { type Rejection } from "../../gateway/telemetry/RequestCounters.ts"

export interface RequestState {
  readonly requestId: string
  readonly facts: ResponseMetadata
  rejection: Rejection | null
  /** The type of the error that was answered. */
  errorType: string | null
  /** The network address of the client, where somebody looked at it. */
  address: string | null
  /** The route as it is declared. */
  route: string | null
  /** Whether it is a request to a model, whose answer says itself who may keep it. */
  isMetered: boolean
  /** What it takes of this process. */
  readonly share: Share
}

export const newRequest = (requestId: string): RequestState => ({
  requestId,
  facts: emptyResponseMetadata(),
  rejection: null,
  errorType: null,
  address: null,
  route: null,
  isMetered: false,
  share: { isCounted: false, bodyBytes: 0 }
})

export const CurrentRequest = Context.Reference<RequestState>("tollgate/http/edge/CurrentRequest", {
  defaultValue: () => newRequest("req_unknown")
})
