/**
 * Keeps a conversation at the provider, and at the key, whose prompt cache it warmed. It goes there
 * first if the place is still among the candidates, its circuit is closed, and the request names
 * neither an order nor a sort; such a request keeps only the key. A place is remembered after an
 * answer. A store that does not answer counts as one that remembers nothing.
 */
import { type Clock, Effect } from "effect"
import { type Candidate, keyName } from "../../domain/Catalog.ts"
import { type Sticky } from "../../domain/Generation.ts"
import { type ConversationStore } from "../../store/providerState/ConversationStore.ts"
import { type Circuits } from "../health/Circuits.ts"
import { conversationName, isContinued } from "../request/Conversation.ts"
import { type RequestPlan } from "../request/RequestPlan.ts"

/** A conversation, and where it was answered last; undefined: unknown. */
export interface Warm {
  readonly name: string
  readonly place: string | undefined
}

export const makeWarmCaches = (
  store: ConversationStore["Service"],
  circuits: Circuits["Service"],
  clock: Clock.Clock
) => {
  /** Null: the request has one place to go to, or is no conversation. */
  const find = (plan: RequestPlan<unknown>): Effect.Effect<Warm | null> => {
    const { conversation } = plan
    if (conversation === null) return none
    const name = conversationName(conversation, plan.caller.key.id, plan.model)
    // Clients that begin with the same words share the providers.
    if (!isContinued(conversation)) return Effect.succeed({ name, place: undefined })
    const nowMs = clock.currentTimeMillisUnsafe()
    const place = store.peek(name, nowMs)
    if (place !== undefined) return Effect.succeed({ name, place })
    return Effect.mapEager(
      Effect.catchEager(store.get(name, nowMs), () => Effect.succeed(undefined)),
      (found) => ({ name, place: found })
    )
  }

  /** The candidates, with the place of the conversation first where that is allowed. */
  const ordered = (
    plan: RequestPlan<unknown>,
    { place }: Warm,
    candidates: ReadonlyArray<Candidate>
  ): Effect.Effect<ReadonlyArray<Candidate>> => {
    if (place === undefined || !mayReorder(plan)) return Effect.succeed(candidates)
    const [slug = "", key] = place.split("#")
    const warm = candidates.find(({ offer, provider }) => provider.slug === slug && offer.id === plan.model)
    if (warm === undefined) return Effect.succeed(candidates)
    const keyed = key === undefined ? warm : { ...warm, key: Number(key) }
    if (circuits.lockedMs(keyed, plan.caller.key.id) > 0) return Effect.succeed(candidates)
    return Effect.mapEager(circuits.stateHere(keyed), ({ state }) =>
      state === "closed" ? [warm, ...candidates.filter((other) => other !== warm)] : candidates
    )
  }

  /**
   * Remembers who answered. Null: a fallback model, which is not where the conversation belongs.
   */
  const answered = (plan: RequestPlan<unknown>, { name, place }: Warm, candidate: Candidate): Sticky | null => {
    if (candidate.offer.id !== plan.model) return null
    const now = keyName(candidate)
    store.put(name, now, clock.currentTimeMillisUnsafe())
    return place === undefined ? "new" : place === now ? "hit" : "moved"
  }

  return { find, ordered, answered }
}

export type WarmCaches = ReturnType<typeof makeWarmCaches>

const none = Effect.succeed(null)

/** The client chose neither the order of the providers nor how they are sorted. */
export const mayReorder = ({ conversation }: Pick<RequestPlan<unknown>, "conversation">): boolean => {
  const preferences = conversation?.request.provider
  return (preferences?.order ?? []).length === 0 && (preferences?.sort ?? null) === null
}
