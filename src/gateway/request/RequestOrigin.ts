/** The HTTP request of a metered request, for its record. */
import { type GenerationError } from "../../domain/Generation.ts"

export interface RequestOrigin {
  readonly requestId: string
  /** The method and the declared path. */
  readonly endpoint: string
  /** The status that the request's API has for each error of a generation. */
  readonly statuses: Readonly<Record<GenerationError, number>>
}
