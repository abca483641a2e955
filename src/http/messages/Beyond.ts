/**
 * Collects what a request of the Messages API has that a chat completion cannot express. The first
 * of it is told to a client whose request no provider of that API can be asked.
 */
import { type Members } from "../../domain/Chat.ts"
import { type Inexpressible } from "../../domain/Native.ts"

export class Beyond {
  #first: Inexpressible | null = null

  get first(): Inexpressible | null {
    return this.#first
  }

  /** `param`: its place, such as `messages.0.content`. */
  add(param: string, message: string): void {
    this.#first ??= { param, message: `${param}: ${message}` }
  }

  /** The same, with a part that is counted, searched and limited in place of the block. */
  part(block: Members, param: string, message: string): ReadonlyArray<Members> {
    this.add(param, message)
    return [{ type: "text", text: JSON.stringify(block, withoutBytes) }]
  }
}

/** Bytes that a provider made are neither text nor tokens. */
const bytes = new Set(["signature", "data", "encrypted_content", "encrypted_index"])
const withoutBytes = (name: string, value: unknown): unknown => (bytes.has(name) ? undefined : value)
