/**
 * The edge's state of one request: its id, and the facts for headers, log and traces. The edge
 * creates it before anything else runs.
 */
import { Context } from "effect"
import { type Share } from "../../gateway/process/Load.ts"
import { type Caller } from "../../gateway/request/Caller.ts"
import { MetadataRecorder } from "../../gateway/request/ResponseMetadata.ts"
import { type Rejection } from "../../gateway/telemetry/RequestCounters.ts"
import { type RefusedRequest } from "../errors/RefusedRequest.ts"
import { type Surface } from "../errors/Surface.ts"
import { type RequestTrace } from "../../gateway/telemetry/RequestTrace.ts"

export interface RequestState {
  readonly requestId: string
  /** Determines the form of errors. */
  readonly surface: Surface
  /** Facts for headers, log and traces, recorded whatever the outcome. */
  readonly recorder: MetadataRecorder
  /** The spans of the request. Null: the request is not traced. */
  readonly trace: RequestTrace | null
  rejection: Rejection | null
  /** The type of the error that was sent. */
  errorType: string | null
  /** The error that was sent, as it may be recorded. */
  refused: RefusedRequest | null
  /** The key that the client proved, and its owner. */
  caller: Caller | null
  /** The model as the client names it. */
  model: string | null
  /** The network address of the client. Null until it is looked up. */
  address: string | null
  /** The route as declared. */
  route: string | null
  /** The method and the declared path, known before the endpoint runs. For requests to models. */
  endpoint: string
  /** True for requests to models. Their responses set `cache-control` themselves. */
  isMetered: boolean
  /** The request's share of the process's load. */
  readonly share: Share
}

export const newRequest = (
  requestId: string,
  trace: RequestTrace | null = null,
  surface: Surface = "openai"
): RequestState => ({
  requestId,
  surface,
  recorder: new MetadataRecorder(),
  trace,
  rejection: null,
  errorType: null,
  refused: null,
  caller: null,
  model: null,
  address: null,
  route: null,
  endpoint: "",
  isMetered: false,
  share: { isCounted: false, bodyBytes: 0 }
})

export const CurrentRequest = Context.Reference<RequestState>("tollgate/http/edge/CurrentRequest", {
  defaultValue: () => newRequest("req_unknown")
})
