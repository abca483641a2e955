/** The caller of the current request, for permission checks and the audit trail. */
import { Context } from "effect"

export interface Actor {
  /**
   * `nobody`: not signed in (yet). `gateway`: outside of a request, such as the first key at
   * start-up.
   */
  readonly kind: "admin_key" | "admin" | "user" | "api_key" | "nobody" | "gateway"
  /** The id of the user or key, or null. */
  readonly id: string | null
  /** The network address of the caller. */
  readonly address: string | null
  readonly requestId: string | null
}

export const CurrentActor = Context.Reference<Actor>("tollgate/domain/Actor", {
  defaultValue: () => ({ kind: "gateway", id: null, address: null, requestId: null })
})
