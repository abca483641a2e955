/**
 * What is wrong with the settings, as data: every fault of a load at once, each naming the setting, what is wrong with its value
 * and the accepted form. A fault never holds a secret, nor a value that came out of the environment through `${NAME}`.
 */
import { Data } from "effect"

export interface SettingsFault {
  /** An environment variable (`TOLLGATE_PORT`), a path into the settings file (`providers[0].slug`), or the file itself. */
  readonly setting: string
  /** Reads on after the setting's name: `is missing`, `is -1`. */
  readonly problem: string
  /** The accepted form: `a whole number from 1 to 64`. */
  readonly expected: string
}

export class SettingsError extends Data.TaggedError("SettingsError")<{
  readonly faults: ReadonlyArray<SettingsFault>
}> {
  override get message(): string {
    const count = this.faults.length
    const lines = this.faults.map((fault) => `  ${fault.setting} ${fault.problem}; expected ${fault.expected}`)
    return [count === 1 ? "1 setting is wrong:" : `${count} settings are wrong:`, ...lines].join("\n")
  }
}
