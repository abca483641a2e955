/** Who acts, as the request that is being answered has it: for what depends on it, and for the audit trail. */
import { Context } from "effect"

export interface Actor {
  /** `nobody`: not signed in (yet). `gateway`: no request at all, such as the first key of a start. */
  readonly kind: "admin_key" | "admin" | "user" | "api_key" | "nobody" | "gateway"
  /** The user's or the key's; `null`: there is none. */
  readonly id: string | null
  /** The network address that the request came from. */
  readonly address: string | null
  readonly requestId: string | null
}

export const CurrentActor = Context.Reference<Actor>("tollgate/domain/Actor", {
  defaultValue: () => ({ kind: "gateway", id: null, address: null, requestId: null })
})
