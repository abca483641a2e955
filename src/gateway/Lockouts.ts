/**
 * Providers that refuse our credentials, or have no more to give to our account, and until when nobody is sent to them. A 403 may be about
 * one model that the account was not granted, so it closes that model alone: nobody's request for it takes the others away.
 */
import { type Candidate } from "../domain/Catalog.ts"

/** An operator needs longer to mend a key than a request can wait. */
const LOCKED_OUT_MS = 30_000
const FORBIDDEN = 403

export class Lockouts {
  /** Unix milliseconds, by provider, or by provider and model. */
  readonly #until = new Map<string, number>()
  /** Those that did not answer since they were first locked out. */
  readonly #refusing = new Set<string>()

  /** Whether it is news: it has answered since the last time, or never was locked out. */
  add(candidate: Candidate, status: number, nowMs: number): boolean {
    const name = status === FORBIDDEN ? modelOf(candidate) : candidate.provider.slug
    this.#until.set(name, nowMs + LOCKED_OUT_MS)
    const isNews = !this.#refusing.has(name)
    this.#refusing.add(name)
    return isNews
  }

  /** It answered. */
  lift(candidate: Candidate): void {
    if (this.#refusing.size === 0) return
    for (const name of [candidate.provider.slug, modelOf(candidate)]) {
      this.#refusing.delete(name)
      this.#until.delete(name)
    }
  }

  get isEmpty(): boolean {
    return this.#refusing.size === 0
  }

  /** For how long nobody is sent there, in milliseconds; 0: go ahead. */
  remainingMs(candidate: Candidate, nowMs: number): number {
    const untilMs = Math.max(this.#until.get(candidate.provider.slug) ?? 0, this.#until.get(modelOf(candidate)) ?? 0)
    return Math.max(0, untilMs - nowMs)
  }
}

const modelOf = ({ offer, provider }: Candidate): string => `${provider.slug}|${offer.id}`
