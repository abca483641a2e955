/**
 * The log of one request's calls to providers. Only the router writes it; other modules read its
 * `record`, which is immutable. It also records whether the client has left: then no further
 * provider is called.
 */
import { type Candidate } from "../../domain/Catalog.ts"
import { type Attempt, type Sticky } from "../../domain/Generation.ts"
import { type NativeRequest } from "../../domain/Native.ts"
import { type TokenUsage } from "../../domain/pricing/Money.ts"
import { type ProviderError } from "../../providers/Provider.ts"
import {
  answeringIndex,
  type AttemptRecord,
  type Attempts,
  withBrokenStream,
  withChange,
  withPrompt,
  type Charge,
  withCharge,
  type Continuation,
  noAttempts
} from "../request/AttemptRecord.ts"

export class AttemptLog implements Attempts {
  #record: AttemptRecord
  #hasLeft = false

  /**
   * `members`: those of the client's request that a chat request leaves out. `native`: the request
   * in its own form.
   */
  constructor(members: ReadonlyArray<string> = [], native?: NativeRequest) {
    this.#record = members.length === 0 ? noAttempts : { ...noAttempts, untranslated: { members, native } }
  }

  get record(): AttemptRecord {
    return this.#record
  }

  /** Whether the client has left: no further provider is called. */
  get hasLeft(): boolean {
    return this.#hasLeft
  }

  clientLeft(): void {
    this.#hasLeft = true
  }

  /** A call begins. */
  startCall(): void {
    this.#record = { ...this.#record, calls: this.#record.calls + 1 }
  }

  /** A call has ended, or has received its first token. Returns its index in the attempts. */
  endCall(attempt: Attempt): number {
    const { attempts, calls } = this.#record
    this.#record = { ...this.#record, attempts: [...attempts, attempt], calls: calls - 1 }
    return attempts.length
  }

  /**
   * The stream of the answering attempt broke off. Returns the attempt's index; -1 if there is
   * none.
   */
  breakStream(error: ProviderError): number {
    const at = answeringIndex(this.#record)
    this.#record = withBrokenStream(this.#record, error)
    return at
  }

  /** Corrects how the attempt at `at` ended. */
  change(at: number, change: Partial<Attempt>): void {
    this.#record = withChange(this.#record, at, change)
  }

  charge(charge: Charge, at: number): void {
    this.#record = withCharge(this.#record, charge, at)
  }

  /** Records whether the conversation stayed where it was. */
  stuck(sticky: Sticky | null): void {
    this.#record = { ...this.#record, sticky }
  }

  continued(continuation: Continuation): void {
    this.#record = { ...this.#record, continuation }
  }

  /** Records which members of the request `candidate` does not get. */
  leftOut(candidate: Candidate, members: ReadonlyArray<string>): void {
    this.#record = { ...this.#record, leftOut: new Map(this.#record.leftOut ?? []).set(candidate, members) }
  }

  /**
   * Records the prompt's usage that the provider of `candidate` reported; null when its call
   * begins.
   */
  promptUsage(candidate: Candidate, usage: TokenUsage | null): void {
    this.#record = withPrompt(this.#record, candidate, usage)
  }

  /**
   * `produced` returns the completion tokens of the whole reply so far; null: the reply is not
   * observed.
   */
  watch(produced: (() => number) | null): void {
    if (this.#record.produced !== produced) this.#record = { ...this.#record, produced }
  }
}
