/**
 * The error of all stores: the database or the shared store does not answer. Every other failure is
 * a defect.
 */
import { Data } from "effect"

export class StoreError extends Data.TaggedError("StoreError")<{
  readonly dependency: "database" | "limit_store" | "cache"
  readonly cause: unknown
}> {
  override get message(): string {
    return `${this.dependency} is unavailable`
  }
}
