/** The settings of the gateway of the month: its providers, and a webhook that does not answer. */
import { providers } from "./offers.ts"

export const monthSettings = {
  providers,
  webhooks: [{ url: "http://127.0.0.1:9/hooks", secret: "a-secret-of-the-tests" }]
}
