/**
 * What is recorded of a refused request: the error as it was sent, without the texts that the
 * client wrote. A message quotes such texts, so it is made again with a placeholder in their place.
 */
import { type ValidationError } from "../../api/Failure.ts"
import { type Exclusion } from "../../domain/Catalog.ts"
import {
  ContextLengthExceeded,
  EncodingUnsupported,
  InvalidRequest,
  ModelNotAllowed,
  ModelNotFound,
  NoEligibleProvider,
  NotFound,
  ProviderSetupRefused,
  type Reason
} from "../../domain/Errors.ts"
import { routeOf } from "../edge/Routes.ts"
import { type Wire } from "./WireErrors.ts"

/** `status`: as sent. Type, code and message are those of the gateway's own envelope. */
export interface RefusedRequest {
  readonly status: number
  readonly type: string
  readonly code: string | null
  readonly message: string
}

const LONGEST_MESSAGE = 500
const PLACEHOLDER = "…"

export const refusedBy = (status: number, { code, message, type }: Wire): RefusedRequest => ({
  status,
  type,
  code,
  message: message.slice(0, LONGEST_MESSAGE)
})

/** The reason with a placeholder for each text of the client or of a provider. */
export const withoutTexts = (reason: Reason): Reason => {
  switch (reason._tag) {
    case "ModelNotFound": {
      const { ambiguous, nearest } = reason
      return new ModelNotFound({ model: PLACEHOLDER, ambiguous, nearest })
    }
    case "ModelNotAllowed":
      return new ModelNotAllowed({ model: PLACEHOLDER })
    case "NoEligibleProvider":
      return new NoEligibleProvider({ model: PLACEHOLDER, excluded: reason.excluded.map(knownExclusion) })
    case "NotFound":
      return new NotFound({ what: reason.what, id: PLACEHOLDER, meant: declared(reason) })
    case "ProviderSetupRefused":
      return new ProviderSetupRefused({ fault: reason.fault, message: PLACEHOLDER, param: reason.param, details: {} })
    case "EncodingUnsupported":
      return new EncodingUnsupported({ encoding: PLACEHOLDER })
    case "ContextLengthExceeded": {
      const { contextLength, param, promptTokens } = reason
      return new ContextLengthExceeded({ message: null, contextLength, param, promptTokens })
    }
    case "InvalidRequest": {
      const { code, message, param, provider } = reason
      return new InvalidRequest({ message: provider === null ? unquoted(message) : PLACEHOLDER, code, param, provider })
    }
    default:
      return reason
  }
}

/** The first fault of a request, without values and names that the client chose. */
export const withoutInput = ({ loc, msg, type }: ValidationError): string => {
  const named = type === "extra_forbidden" ? [...loc.slice(0, -1), PLACEHOLDER] : loc
  if (type === "json_invalid") return `${String(loc[0])}: ${msg}`
  return `${named.join(".")}: ${type === "value_error" ? unquoted(msg) : msg}`
}

const knownExclusion = (exclusion: Exclusion): Exclusion => ({
  ...exclusion,
  ...(exclusion.reason === "unknown_provider" ? { slug: PLACEHOLDER } : {}),
  ...(exclusion.reason === "unknown_model" ? { model: PLACEHOLDER } : {})
})

/** The declared path: the one that was perhaps meant may contain ids. */
const declared = ({ id, meant }: NotFound): string | null =>
  typeof meant === "string" ? routeOf(id.slice(0, id.indexOf(" ")), meant) : null

const unquoted = (message: string): string => message.replaceAll(/'[^']*'|"[^"]*"|`[^`]*`/g, PLACEHOLDER)
