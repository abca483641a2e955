/**
 * Records which clients' keys use a circuit, and which of them failed since its last success. A
 * request can provoke failures that do not concern other requests, so the failures of one key count
 * once while another key uses the circuit. If only one key uses it, each failure counts: an open
 * circuit then affects no other key. The record belongs to this process.
 */
import { type Clock } from "effect"

/** How long a key counts as a user after its last call, in milliseconds. */
const IN_USE_MS = 60_000
/** More keys than the circuit's limit need not be told apart. */
const MOST_FAILED = 5

interface Users {
  last: string
  /** The last key other than `last`, and when it called. */
  other: string | null
  otherAtMs: number
  lastAtMs: number
  readonly failed: Set<string>
}

export class CircuitUsers {
  readonly #clock: Clock.Clock
  readonly #circuits = new Map<string, Users>()

  constructor(clock: Clock.Clock) {
    this.#clock = clock
  }

  /** Records a call of the key; null: of no key. */
  uses(circuit: string, keyId: string | null): void {
    if (keyId === null) return
    const nowMs = this.#clock.currentTimeMillisUnsafe()
    const users = this.#circuits.get(circuit)
    if (users === undefined) {
      this.#circuits.set(circuit, { last: keyId, lastAtMs: nowMs, other: null, otherAtMs: 0, failed: new Set() })
      return
    }
    if (users.last !== keyId) {
      users.other = users.last
      users.otherAtMs = users.lastAtMs
      users.last = keyId
    }
    users.lastAtMs = nowMs
  }

  /** Whether a failure of the key counts for the circuit. */
  countsFailure(circuit: string, keyId: string | null): boolean {
    const users = keyId === null ? undefined : this.#circuits.get(circuit)
    if (users === undefined || keyId === null) return true
    const isRepeated = users.failed.has(keyId)
    if (users.failed.size < MOST_FAILED) users.failed.add(keyId)
    return !isRepeated || this.#isAlone(users, keyId)
  }

  succeeded(circuit: string): void {
    this.#circuits.get(circuit)?.failed.clear()
  }

  #isAlone({ last, lastAtMs, other, otherAtMs }: Users, keyId: string): boolean {
    const [somebody, atMs] = last === keyId ? [other, otherAtMs] : [last, lastAtMs]
    return somebody === null || somebody === keyId || this.#clock.currentTimeMillisUnsafe() - atMs > IN_USE_MS
  }
}
