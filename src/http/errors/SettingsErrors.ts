/** The wire errors of changes of the settings. */
import { type ProviderSetupRefused } from "../../domain/Errors.ts"
import { type Wire } from "./WireErrors.ts"

/** The settings are as they are: a 409. Everything else is a fault of the request. */
const conflicts = new Set<ProviderSetupRefused["fault"]>([
  "provider_exists",
  "provider_of_environment",
  "settings_busy",
  "settings_changed",
  "settings_uneditable",
  "settings_unwritable"
])

export const settingsWireOf = ({ details, fault, message, param }: ProviderSetupRefused): Wire => {
  if (conflicts.has(fault)) {
    return {
      status: 409,
      type: "settings_conflict",
      code: fault,
      message,
      param,
      retryable: fault === "settings_busy",
      details
    }
  }
  const loc = param === null ? ["body"] : ["body", param]
  return {
    status: 422,
    type: "invalid_request_error",
    code: fault,
    message,
    param,
    retryable: false,
    details,
    detail: [{ loc, msg: `Value error, ${message}`, type: "value_error" }]
  }
}
