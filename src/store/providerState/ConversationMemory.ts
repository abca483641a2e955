/** Places of conversations in the memory of one process. */
import { Effect, Layer } from "effect"
import { ConversationStore } from "./ConversationStore.ts"
import { RecentPlaces } from "./RecentPlaces.ts"

/** Each build starts empty. */
export const layer = Layer.sync(ConversationStore, () => {
  const places = new RecentPlaces()
  const peek = (name: string, nowMs: number) => places.get(name, nowMs)?.place
  return {
    peek,
    get: (name, nowMs) => Effect.sync(() => peek(name, nowMs)),
    put: (name, place, nowMs) => places.set(name, place, nowMs)
  }
})
