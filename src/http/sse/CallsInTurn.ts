/**
 * Brings the pieces of an answer into an order in which each call is whole before anything else
 * begins. Pieces that arrive while a call is unfinished wait until its input ends; those of one
 * call are joined. Nothing but white space can follow the end of an input, so later pieces of an
 * ended call are left out.
 */
import { type Members } from "../../domain/Chat.ts"
import { JsonEnd } from "../messages/JsonEnd.ts"

/** A piece of a call. `wire`: its members. `isJson`: its input ends as a JSON object does. */
export interface CallPiece {
  readonly kind: "call"
  readonly call: number
  readonly wire: Members
  readonly input: string
  readonly isJson: boolean
}

/** Another piece. `text` counts towards what may wait. */
interface OtherPiece {
  readonly kind: string
  readonly text?: string
}

/**
 * Most pieces that wait, those of one call counted once, and most characters of them. A provider
 * that weaves its calls more than that breaks the stream.
 */
const MOST_WAITING = 1_024
const MOST_WAITING_CHARACTERS = 4_194_304

export class CallsInTurn<Other extends OtherPiece> {
  readonly #write: (piece: Other | CallPiece) => void
  #open: { readonly call: number; readonly end: JsonEnd | null } | null = null
  #waiting: Array<Other | CallPiece> = []
  #characters = 0
  /** The places in `#waiting` of calls. */
  readonly #places = new Map<number, number>()
  readonly #ended = new Set<number>()

  constructor(write: (piece: Other | CallPiece) => void) {
    this.#write = write
  }

  get isOverfull(): boolean {
    return this.#waiting.length > MOST_WAITING || this.#characters > MOST_WAITING_CHARACTERS
  }

  /** Whether the input of the call that was begun last has ended. */
  get isWhole(): boolean {
    return this.#open?.end?.isReached !== false
  }

  add(piece: Other | CallPiece): void {
    const open = this.#open
    if (!isCall(piece)) {
      if (open !== null && open.end?.isReached !== true) return this.#wait(piece)
      this.#release()
      return this.#write(piece)
    }
    if (this.#ended.has(piece.call)) return
    if (open !== null && open.call !== piece.call) {
      if (open.end?.isReached !== true) return this.#wait(piece)
      this.#release()
    }
    const { end } = (this.#open ??= { call: piece.call, end: piece.isJson ? new JsonEnd() : null })
    end?.add(piece.input)
    this.#write(piece)
    if (end?.isReached === true && this.#waiting.length > 0) this.#resume()
  }

  /** Writes what still waits. */
  finish(): void {
    while (this.#waiting.length > 0) this.#resume()
  }

  #release(): void {
    if (this.#open !== null) this.#ended.add(this.#open.call)
    this.#open = null
  }

  /** Pieces that wait behind another unfinished call wait on. */
  #resume(): void {
    this.#release()
    const waiting = this.#waiting
    this.#waiting = []
    this.#characters = 0
    this.#places.clear()
    for (const piece of waiting) this.add(piece)
  }

  #wait(piece: Other | CallPiece): void {
    if (!isCall(piece)) {
      this.#characters += piece.text?.length ?? 0
      this.#waiting.push(piece)
      return
    }
    this.#characters += piece.input.length
    const place = this.#places.get(piece.call)
    const before = place === undefined ? undefined : this.#waiting[place]
    if (place !== undefined && before !== undefined && isCall(before)) {
      this.#waiting[place] = { ...before, input: before.input + piece.input }
      return
    }
    this.#places.set(piece.call, this.#waiting.length)
    this.#waiting.push(piece)
  }
}

const isCall = <Other extends OtherPiece>(piece: Other | CallPiece): piece is CallPiece => piece.kind === "call"
