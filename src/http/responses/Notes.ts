/**
 * What a translation notes beside its result: the members that were left out, the first one that
 * chat completions cannot express, and the first one that refers to an object in the vendor's
 * account.
 */
import { Predicate } from "effect"
import { type Members } from "../../domain/Chat.ts"
import { type Inexpressible } from "../../domain/Native.ts"
import { membersOf } from "../messages/Blocks.ts"

const advice = "needs a provider of the Responses API. Leave it out, or name a model that such a provider serves."

/** Members that name an object which is stored at the vendor. */
const references = new Set(["file_id", "file_ids", "vector_store_ids", "container_id", "skill_id"])
/** Members of a tool that hold a client's own names. */
const ownNames = new Set(["parameters", "output_schema"])

export class Notes {
  readonly dropped: Array<string> = []
  only: Inexpressible | null = null
  accountObjects: string | null = null

  drop(name: string): void {
    this.dropped.push(name)
  }

  /** Chat completions cannot express the member. */
  need(param: string, what: string): void {
    this.only ??= { param, message: `${param}: ${what} ${advice}` }
  }

  refer(param: string): void {
    this.accountObjects ??= param
  }

  /** Looks for references to stored objects in a value that is not translated. */
  search(value: unknown, place: string): void {
    if (this.accountObjects !== null) return
    if (Array.isArray(value)) value.forEach((each, at) => this.search(each, `${place}.${at}`))
    else if (Predicate.isObject(value)) this.#searchMembers(membersOf(value), place)
  }

  #searchMembers(value: Members, place: string): void {
    for (const [name, member] of Object.entries(value)) {
      if (ownNames.has(name)) continue
      const isReference = references.has(name) || (name === "container" && typeof member === "string")
      if (isReference && isPresent(member)) this.refer(`${place}.${name}`)
      else this.search(member, `${place}.${name}`)
    }
  }
}

const isPresent = (value: unknown): boolean =>
  typeof value === "string" ? value !== "" : Array.isArray(value) && value.length > 0
