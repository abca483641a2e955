/**
 * What the edge knows of the request that it is answering: its id, and what headers, log and traces show whatever the ending. The edge
 * makes it before anything else runs.
 */
import { Context } from "effect"
import { type Share } from "../../gateway/process/Load.ts"
import { MetadataRecorder } from "../../gateway/request/ResponseMetadata.ts"
import { type Rejection } from "../../gateway/telemetry/RequestCounters.ts"
import { type RequestTrace } from "../../gateway/telemetry/RequestTrace.ts"

export interface RequestState {
  readonly requestId: string
  /** What headers, log and traces show, whatever the ending. */
  readonly recorder: MetadataRecorder
  /** Its spans; null: it is not traced. */
  readonly trace: RequestTrace | null
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

export const newRequest = (requestId: string, trace: RequestTrace | null = null): RequestState => ({
  requestId,
  recorder: new MetadataRecorder(),
  trace,
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
