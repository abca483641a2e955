/** The places of the most recent conversations, in the memory of one process. */
import { CONVERSATION_TTL_MS, MOST_CONVERSATIONS } from "./ConversationStore.ts"

export interface RecentPlace {
  readonly place: string
  readonly untilMs: number
  /** When other processes were told of the place; null: they were not. */
  readonly toldAtMs: number | null
}

/**
 * Half of the bound is filled with new names, then the half before it is dropped whole. A map that
 * drops its oldest entry with each new one would search for it among the dropped ones.
 */
export class RecentPlaces {
  #recent = new Map<string, RecentPlace>()
  #older = new Map<string, RecentPlace>()

  get size(): number {
    return this.#recent.size + this.#older.size
  }

  get(name: string, nowMs: number): RecentPlace | undefined {
    const found = this.#recent.get(name) ?? this.#older.get(name)
    return found === undefined || found.untilMs <= nowMs ? undefined : found
  }

  set(name: string, place: string, nowMs: number, toldAtMs: number | null = null): void {
    this.#older.delete(name)
    this.#recent.set(name, { place, untilMs: nowMs + CONVERSATION_TTL_MS, toldAtMs })
    if (this.#recent.size < MOST_CONVERSATIONS / 2) return
    this.#older = this.#recent
    this.#recent = new Map()
  }
}
