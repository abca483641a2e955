/**
 * A minimal model of the ledger: a list of entries, and balances that are summed up on each
 * request. No counters, no groups, no concurrency. Concurrent calls of the real ledger must equal
 * calls of this one in some order.
 */
import { type Balance } from "../../../src/store/ledger/Ledger.ts"

export type Command =
  | {
      readonly _tag: "Reserve"
      readonly id: string
      readonly keyId: string
      readonly month: string
      readonly amountNano: number
      readonly capNano: number | null
      readonly leaseUntilMs: number
      readonly processId: string
    }
  | { readonly _tag: "Extend"; readonly id: string; readonly amountNano: number; readonly capNano: number | null }
  | {
      readonly _tag: "Settle"
      readonly id: string
      readonly keyId: string
      readonly month: string
      readonly billedNano: number
    }
  | {
      readonly _tag: "Replay"
      readonly id: string
      readonly keyId: string
      readonly month: string
      readonly amountNano: number
      readonly capNano: number | null
    }
  | { readonly _tag: "Void"; readonly id: string }
  | { readonly _tag: "Renew"; readonly ids: ReadonlyArray<string>; readonly leaseUntilMs: number }
  | { readonly _tag: "Recover"; readonly nowMs: number }

/**
 * The result of a command. A reserve, an extension or a replay returns the balance that refused it,
 * a recovery returns how many it settled. Null: no result.
 */
export type Told = "Reserved" | Balance | number | null

/** `billedNano: null`: pending. */
export interface Entry {
  readonly id: string
  readonly keyId: string
  readonly month: string
  readonly amountNano: number
  readonly leaseUntilMs: number
  readonly processId: string
  readonly billedNano: number | null
  readonly isEstimate: boolean
}

export type Book = ReadonlyMap<string, Entry>

export const balanceOf = (book: Book, keyId: string, month: string): Balance => {
  let [spentNano, reservedNano] = [0, 0]
  for (const entry of book.values()) {
    if (entry.keyId !== keyId || entry.month !== month) continue
    spentNano += entry.billedNano ?? 0
    reservedNano += entry.billedNano === null ? entry.amountNano : 0
  }
  return { spentNano, reservedNano }
}

const isTooMuch = ({ reservedNano, spentNano }: Balance, amountNano: number, capNano: number | null): boolean =>
  capNano !== null && spentNano + reservedNano + amountNano > capNano

/**
 * The state after one command, and its result. `isLeft`: recovery skips this one, because another
 * process is at work.
 */
export const step = (
  book: Book,
  command: Command,
  isLeft: (entry: Entry) => boolean = () => false
): readonly [Book, Told] => {
  const next = new Map(book)
  switch (command._tag) {
    case "Reserve": {
      const { amountNano, capNano, id, keyId, leaseUntilMs, month, processId } = command
      if (next.has(id)) return [next, "Reserved"]
      const balance = balanceOf(book, keyId, month)
      if (isTooMuch(balance, amountNano, capNano)) return [next, balance]
      next.set(id, { id, keyId, month, amountNano, leaseUntilMs, processId, billedNano: null, isEstimate: false })
      return [next, "Reserved"]
    }
    case "Extend": {
      const entry = next.get(command.id)
      if (entry === undefined) return [next, { spentNano: 0, reservedNano: 0 }]
      const balance = balanceOf(book, entry.keyId, entry.month)
      if (entry.billedNano !== null || isTooMuch(balance, command.amountNano, command.capNano)) return [next, balance]
      next.set(entry.id, { ...entry, amountNano: entry.amountNano + command.amountNano })
      return [next, "Reserved"]
    }
    case "Settle": {
      const { billedNano, id, keyId, month } = command
      const entry = next.get(id) ?? {
        id,
        keyId,
        month,
        amountNano: 0,
        leaseUntilMs: 0,
        processId: "",
        billedNano: null,
        isEstimate: false
      }
      if (entry.billedNano === null || entry.isEstimate) next.set(id, { ...entry, billedNano, isEstimate: false })
      return [next, null]
    }
    case "Replay": {
      const { amountNano, capNano, id, keyId, month } = command
      const balance = balanceOf(book, keyId, month)
      if (!next.has(id) && isTooMuch(balance, amountNano, capNano)) return [next, balance]
      return [step(book, { _tag: "Settle", id, keyId, month, billedNano: 0 })[0], "Reserved"]
    }
    case "Void": {
      const entry = next.get(command.id)
      if (entry?.billedNano === null || entry?.isEstimate === true) next.delete(command.id)
      return [next, null]
    }
    case "Renew": {
      for (const entry of book.values()) {
        if (entry.billedNano === null && command.ids.includes(entry.id)) {
          next.set(entry.id, { ...entry, leaseUntilMs: command.leaseUntilMs })
        }
      }
      return [next, null]
    }
    case "Recover": {
      let settled = 0
      for (const entry of book.values()) {
        if (entry.billedNano !== null || entry.leaseUntilMs > command.nowMs || isLeft(entry)) continue
        next.set(entry.id, { ...entry, billedNano: entry.amountNano, isEstimate: true })
        settled++
      }
      return [next, settled]
    }
  }
}

/** All permutations. */
export const orders = <A>(all: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  all.length <= 1
    ? [all]
    : all.flatMap((first, at) => orders([...all.slice(0, at), ...all.slice(at + 1)]).map((rest) => [first, ...rest]))
