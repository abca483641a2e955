/**
 * Logs: pretty on a terminal, one JSON object a line elsewhere. The lines of requests of one turn of the event loop are written at once;
 * any other line is written when it is said, in order. What warns may quote an error and goes through the redaction.
 */
import { Effect, Logger, LogLevel } from "effect"
import { type SettingsShape } from "../Settings.ts"
import { redactor } from "./Redaction.ts"

/** Where lines go: standard output, unless a test looks. */
export type Write = (text: string) => void

const toStandardOutput: Write = (text) => void process.stdout.write(text)

/** One JSON object a line. Closing the scope writes what is left. */
export const jsonLogger = (settings: SettingsShape, write: Write = toStandardOutput) =>
  Effect.gen(function* () {
    const redact = redactor(settings)
    let waiting = ""
    const flush = (): void => {
      if (waiting === "") return
      const text = waiting
      waiting = ""
      write(text)
    }
    yield* Effect.addFinalizer(() => Effect.sync(flush))
    return Logger.make<unknown, void>((options) => {
      const json = Logger.formatJson.log(options)
      const warns = !LogLevel.isGreaterThan("Warn", options.logLevel)
      const line = `${warns ? redact(json) : json}\n`
      if (!warns && isRequest(options.message)) {
        if (waiting === "") setImmediate(flush)
        waiting += line
      } else {
        flush()
        write(line)
      }
    })
  })

const isRequest = (message: unknown): boolean =>
  message === "request" || (Array.isArray(message) && message.length === 1 && message[0] === "request")

export const loggerOf = (settings: SettingsShape) =>
  settings.logFormat === "pretty" ? Effect.succeed(Logger.consolePretty()) : jsonLogger(settings)
