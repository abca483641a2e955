/** A running chat request, with the log that the router writes. */
import { type ChatRequest } from "../../domain/Chat.ts"
import { type MeteredRequest } from "../billing/Reservation.ts"
import { type Scope } from "effect"
import { type CacheControl } from "../request/CacheControl.ts"
import { type Note } from "../request/ResponseMetadata.ts"
import { type AttemptLog } from "../routing/AttemptLog.ts"

export interface ChatMetered extends MeteredRequest<ChatRequest> {
  readonly log: AttemptLog
  readonly control: CacheControl
  readonly note: Note
  readonly scope: Scope.Scope
}
