/**
 * The failure of a command: an exit code for scripts, and a message on stderr as text or as one
 * JSON object. Neither contains a credential.
 */
import { Cause, Data, Exit, PlatformError, Predicate } from "effect"
import { CliError } from "effect/cli"
import type { TollgateError } from "../client/Client.ts"
import type { Paint } from "./Look.ts"

/** 0 is success, 130 is interrupted. */
export const exitCodes = { refused: 1, usage: 2, unreachable: 3, changes: 4, interrupted: 130 } as const

type FailureCode = Exclude<keyof typeof exitCodes, "interrupted">

/** A command's own failure. `remedy`: what the user can do. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly code: FailureCode
  readonly message: string
  readonly remedy?: string
}> {}

/** A gateway's refusal for which the command knows a remedy. */
export class Explained extends Data.TaggedError("Explained")<{
  readonly error: TollgateError
  readonly remedy: string
}> {}

/** A command whose result has been printed and is negative. */
export class NegativeResult extends Data.TaggedError("NegativeResult")<{}> {}

/** A command that found changes, and has printed them. */
export class ChangesFound extends Data.TaggedError("ChangesFound")<{}> {}

/** By its tag: its class comes with the client, which a command loads when it calls. */
export const isTollgateError = (error: unknown): error is TollgateError => Predicate.isTagged(error, "TollgateError")

const codeOf = (error: unknown): FailureCode => {
  if (error instanceof CommandFailed) return error.code
  if (error instanceof ChangesFound) return "changes"
  if (CliError.isCliError(error)) return "usage"
  if (!isTollgateError(error)) return "refused"
  if (error.reason._tag === "Unsendable") return "usage"
  return error.reason._tag === "Refused" || error.reason._tag === "BrokenOff" ? "refused" : "unreachable"
}

/** The reader of the output has gone, as with `| head`. */
const isUnread = (error: unknown): boolean =>
  error instanceof PlatformError.PlatformError && error.reason.module === "Stdio"

const failureOf = <E>(cause: Cause.Cause<E>): unknown =>
  cause.reasons.find((reason) => reason._tag === "Fail")?.error ?? Cause.squash(cause)

const unexplained = (error: unknown): unknown => (error instanceof Explained ? error.error : error)

/** `mayStop`: being stopped counts as success. */
export const exitCodeOf = <A, E>(exit: Exit.Exit<A, E>, mayStop = false): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return mayStop ? 0 : exitCodes.interrupted
  const failure = unexplained(failureOf(exit.cause))
  return isUnread(failure) ? 0 : exitCodes[codeOf(failure)]
}

const remedyOf = (error: unknown): string | undefined => {
  if (error instanceof CommandFailed) return error.remedy
  if (!isTollgateError(error)) return undefined
  if (error.reason._tag === "Unsendable") return "Check that the key is complete and contains no spaces or line breaks."
  if (error.reason._tag === "Unreachable") return "Start a gateway with `tollgate start`, or set another with --url."
  if (error.reason._tag === "Unexpected") return "Check that the address belongs to a gateway of this version."
  if (error.status === 401) return "See `tollgate --help` for where keys are read from."
  return error.retryAfterSeconds === null ? undefined : `Try again in ${error.retryAfterSeconds} s.`
}

const typeOf = (error: unknown): string => {
  if (isTollgateError(error)) return error.type ?? error.reason._tag.toLowerCase()
  return error instanceof CommandFailed || CliError.isCliError(error) ? codeOf(error) : "internal_error"
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A remedy of ours takes the place of the gateway's, which names a path of the API. */
const textOf = (failure: unknown): string =>
  failure instanceof Explained ? failure.error.message.replace(/ GET \/v1\/[^.]*\.$/, "") : messageOf(failure)

/** The message for stderr. `null` if everything has been printed already. */
export const errorText = <E>(cause: Cause.Cause<E>, isJson: boolean, paint: Paint): string | null => {
  const failure = failureOf(cause)
  const error = unexplained(failure)
  // Usage errors have been printed by the parser.
  if (Cause.hasInterruptsOnly(cause) || isUnread(error)) return null
  if (error instanceof NegativeResult || error instanceof ChangesFound || CliError.isCliError(error)) return null
  const remedy = failure instanceof Explained ? failure.remedy : remedyOf(error)
  if (isJson) {
    const gatewayError = isTollgateError(error) ? error : null
    return JSON.stringify({
      error: {
        ...gatewayError?.body,
        type: typeOf(error),
        message: messageOf(error),
        status: gatewayError?.status ?? null,
        retryable: gatewayError?.isRetryable ?? false,
        ...(remedy === undefined ? {} : { remedy })
      }
    })
  }
  const isBug = !(isTollgateError(error) || error instanceof CommandFailed)
  return [
    `${paint("red", "tollgate:")} ${isBug ? Cause.pretty(cause) : textOf(failure)}`,
    ...(remedy === undefined ? [] : [`  ${remedy}`]),
    ...(isTollgateError(error) && error.requestId !== null ? [`  Request id: ${error.requestId}`] : [])
  ].join("\n")
}
