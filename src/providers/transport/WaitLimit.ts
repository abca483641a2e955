/**
 * A time limit of one wait after another. Almost all are met, thousands a second, so a timer is not set and cleared for each: the last one stays,
 * looks when it fires how long the wait of that moment may still take, and is set anew for the rest.
 */
// @effect-diagnostics globalTimers:off -- limits of real sockets: see HttpExchange.ts

export class WaitLimit {
  readonly #onOver: () => void
  #timer: NodeJS.Timeout | undefined
  #firesAtMs = 0
  /** Infinite while nobody waits. */
  #untilMs = Number.POSITIVE_INFINITY

  constructor(onOver: () => void) {
    this.#onOver = onOver
  }

  /** A wait begins; the one before it is over. */
  begin(limitMs: number): void {
    this.#untilMs = performance.now() + limitMs
    if (this.#timer !== undefined && this.#firesAtMs <= this.#untilMs) return
    clearTimeout(this.#timer)
    this.#set(limitMs)
  }

  /** The wait is over in time. */
  meet(): void {
    this.#untilMs = Number.POSITIVE_INFINITY
  }

  /** No other wait follows. */
  end(): void {
    this.meet()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #set(ms: number): void {
    this.#firesAtMs = performance.now() + ms
    this.#timer = setTimeout(() => this.#fire(), ms)
  }

  #fire(): void {
    this.#timer = undefined
    if (this.#untilMs === Number.POSITIVE_INFINITY) return
    const leftMs = this.#untilMs - performance.now()
    // Timers count whole milliseconds, and may be a part of one early.
    if (leftMs < 1) this.#onOver()
    else this.#set(leftMs)
  }
}
