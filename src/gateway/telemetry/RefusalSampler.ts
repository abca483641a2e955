/**
 * Decides which refusals of a minute get a row of their own: the first of each kind and key. The
 * others are counted, and one row at the end of the minute stands for them, so that the counts of
 * all rows add up. This bounds the rows of a minute whatever arrives.
 */

/** Rows of one kind and key in a minute. */
const MOST_ALIKE = 5
/** Rows of all kinds and keys in a minute, without those that stand for others. */
const MOST_ROWS = 120
/** Kinds and keys that are told apart in a minute. Further ones are counted by kind alone. */
const MOST_KINDS = 250
const MINUTE_MS = 60_000

interface Sampled {
  readonly createdAtMs: number
  readonly status: number
  readonly type: string
  readonly code: string | null
  readonly keyId: string | null
}

interface Kind<Refused> {
  rows: number
  /** The last one without a row, and the number of them. */
  last: Refused | null
  others: number
}

export interface Counted<Refused> {
  readonly refused: Refused
  readonly count: number
}

export class RefusalSampler<Refused extends Sampled> {
  #minute = 0
  #rows = 0
  #others = 0
  readonly #kinds = new Map<string, Kind<Refused>>()

  /** Whether refusals are counted that have no row yet. */
  get hasOthers(): boolean {
    return this.#others > 0
  }

  /** The rows to write: of this refusal, and of the minute before if this one begins another. */
  add(refused: Refused, nowMs: number): ReadonlyArray<Counted<Refused>> {
    const ended = this.endMinute(nowMs)
    const kind = this.#kindOf(refused)
    if (kind.rows < MOST_ALIKE && this.#rows < MOST_ROWS) {
      kind.rows++
      this.#rows++
      return [...ended, { refused, count: 1 }]
    }
    kind.last = refused
    kind.others++
    this.#others++
    return ended
  }

  /** The rows that stand for others, once their minute is over. */
  endMinute(nowMs: number): ReadonlyArray<Counted<Refused>> {
    const minute = Math.floor(nowMs / MINUTE_MS)
    if (minute === this.#minute) return []
    this.#minute = minute
    return this.end()
  }

  /** The rows that stand for others, at once. */
  end(): ReadonlyArray<Counted<Refused>> {
    const ended = [...this.#kinds.values()].flatMap(({ last, others }) =>
      last === null ? [] : [{ refused: last, count: others }]
    )
    this.#kinds.clear()
    this.#rows = 0
    this.#others = 0
    return ended
  }

  #kindOf({ code, keyId, status, type }: Refused): Kind<Refused> {
    const name = `${status} ${type} ${code ?? ""}`
    const own = `${name} ${keyId ?? ""}`
    const known = this.#kinds.get(own) ?? (this.#kinds.size < MOST_KINDS ? undefined : this.#kinds.get(name))
    if (known !== undefined) return known
    const kind: Kind<Refused> = { rows: 0, last: null, others: 0 }
    this.#kinds.set(this.#kinds.size < MOST_KINDS ? own : name, kind)
    return kind
  }
}
