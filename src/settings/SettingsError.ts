/**
 * Faults of the settings, as data: all faults of a load, each with the setting, the problem and the
 * accepted form. A fault contains no secrets, and no values that came from the environment through
 * `${NAME}`.
 */
import { Data } from "effect"

export interface SettingsFault {
  /**
   * An environment variable (`TOLLGATE_PORT`), a path in the settings file (`providers[0].slug`),
   * or the file itself.
   */
  readonly setting: string
  /** Follows the setting's name: `is missing`, `is -1`. */
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
