/** The error types of failed calls, on receipts and in the history of circuits. */
import { type OutageCause } from "../../domain/Outage.ts"
import { type ProviderError } from "../../providers/Provider.ts"

const errorTypes = {
  Unreachable: "unreachable",
  TimedOut: "timeout",
  Throttled: "rate_limited",
  ServerFault: "server_error",
  CredentialsRefused: "credentials_refused",
  Rejected: "rejected",
  Malformed: "malformed",
  TooLarge: "too_large",
  Cut: "stream_cut",
  Unsupported: "unsupported"
} as const satisfies Record<ProviderError["reason"]["_tag"], string>

export const errorTypeOf = ({ reason }: ProviderError): string => errorTypes[reason._tag]

export const causeOf = (error: ProviderError): OutageCause => ({
  errorType: errorTypeOf(error),
  httpStatus: error.httpStatus,
  message: error.words ?? null
})
