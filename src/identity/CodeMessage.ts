/** A sign-in code to deliver, and its delivery error. */
import { Data } from "effect"
import { type Channel } from "../domain/User.ts"

/**
 * The service rejected the message or was unreachable. `cause` contains neither code nor
 * destination.
 */
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
  /** An e-mail address, or a phone number in E.164. */
  readonly destination: string
  readonly code: string
  readonly expiresInMinutes: number
}

export interface Letter extends CodeMessage {
  readonly sentAtMs: number
}
