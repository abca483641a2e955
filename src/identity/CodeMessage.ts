/** A sign-in code on its way to a person, and what may become of it. */
import { Data } from "effect"
import { type Channel } from "../domain/User.ts"

/** The service refused, or could not be reached. `cause` holds neither code nor destination. */
export class DeliveryError extends Data.TaggedError("DeliveryError")<{
  readonly channel: Channel
  readonly cause: string
}> {
  override get message(): string {
    return `a code could not be sent by ${this.channel}: ${this.cause}`
  }
}

export interface CodeMessage {
  readonly channel: Channel
  /** An address, or a number in E.164. */
  readonly destination: string
  readonly code: string
  readonly expiresInMinutes: number
}

export interface Letter extends CodeMessage {
  readonly sentAtMs: number
}
