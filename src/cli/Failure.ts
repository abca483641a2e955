/**
 * How a command fails: an exit code that a script can branch on, words for people on stderr, or the same as one JSON object. Nothing of
 * a credential is in either.
 */
import { Cause, Data, Exit, PlatformError } from "effect"
import { CliError } from "effect/cli"
import { TollgateError } from "../client/Client.ts"

/** 0 is well done; 130 is asked to stop. */
export const exitCodes = { refused: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

type FailureCode = Exclude<keyof typeof exitCodes, "interrupted">

/** A command's own failure. `remedy`: what to do about it. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly code: FailureCode
  readonly message: string
  readonly remedy?: string
}> {}

/** A command that has said all in its answer, and what it said is not good. */
export class Unwell extends Data.TaggedError("Unwell")<{}> {}

const codeOf = (error: unknown): FailureCode => {
  if (error instanceof CommandFailed) return error.code
  if (CliError.isCliError(error)) return "usage"
  if (!(error instanceof TollgateError)) return "refused"
  if (error.reason._tag === "Unsendable") return "usage"
  return error.reason._tag === "Refused" || error.reason._tag === "BrokenOff" ? "refused" : "unreachable"
}

/** Nobody reads what is written any more, as behind `| head`. */
const isUnread = (error: unknown): boolean =>
  error instanceof PlatformError.PlatformError && error.reason.module === "Stdio"

const failureOf = <E>(cause: Cause.Cause<E>): unknown =>
  cause.reasons.find((reason) => reason._tag === "Fail")?.error ?? Cause.squash(cause)

/** `mayStop`: to be stopped is a good end. */
export const exitCodeOf = <A, E>(exit: Exit.Exit<A, E>, mayStop = false): number => {
  if (Exit.isSuccess(exit)) return 0
  if (Cause.hasInterruptsOnly(exit.cause)) return mayStop ? 0 : exitCodes.interrupted
  const failure = failureOf(exit.cause)
  return isUnread(failure) ? 0 : exitCodes[codeOf(failure)]
}

const remedyOf = (error: unknown): string | undefined => {
  if (error instanceof CommandFailed) return error.remedy
  if (!(error instanceof TollgateError)) return undefined
  if (error.reason._tag === "Unsendable") return "Is the key whole, and is there nothing between its characters?"
  if (error.reason._tag === "Unreachable") return "Start a gateway with `tollgate start`, or name another with --url."
  if (error.reason._tag === "Unexpected") return "Is a gateway behind this address, and of this version?"
  if (error.status === 401) return "See `tollgate --help` for where keys are taken from."
  return error.retryAfterSeconds === null ? undefined : `It may be worth another try in ${error.retryAfterSeconds} s.`
}

const typeOf = (error: unknown): string => {
  if (error instanceof TollgateError) return error.type ?? error.reason._tag.toLowerCase()
  return error instanceof CommandFailed || CliError.isCliError(error) ? codeOf(error) : "internal_error"
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** What stderr says of a failure; `null`: nothing more than was said already. */
export const complaint = <E>(cause: Cause.Cause<E>, isJson: boolean): string | null => {
  const error = failureOf(cause)
  // Wrong usage has been explained where the line was read.
  if (Cause.hasInterruptsOnly(cause) || isUnread(error)) return null
  if (error instanceof Unwell || CliError.isCliError(error)) return null
  const remedy = remedyOf(error)
  if (isJson) {
    const told = error instanceof TollgateError ? error : null
    return JSON.stringify({
      error: {
        ...told?.body,
        type: typeOf(error),
        message: messageOf(error),
        status: told?.status ?? null,
        retryable: told?.isRetryable ?? false,
        ...(remedy === undefined ? {} : { remedy })
      }
    })
  }
  const isBug = !(error instanceof TollgateError || error instanceof CommandFailed)
  return [
    `tollgate: ${isBug ? Cause.pretty(cause) : messageOf(error)}`,
    ...(remedy === undefined ? [] : [`  ${remedy}`]),
    ...(error instanceof TollgateError && error.requestId !== null ? [`  The request was ${error.requestId}.`] : [])
  ].join("\n")
}
