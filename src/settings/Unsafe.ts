/** What production refuses. */
import { type ProviderConfig } from "../domain/Catalog.ts"
import { type SettingsShape } from "../Settings.ts"
import { weakAdminKey } from "./AdminKey.ts"
import { type Faults } from "./Faults.ts"
import { unsafeInProduction } from "./sections/SignIn.ts"

export const unsafe = ({ adminKey, auth, environment, providers }: SettingsShape): Faults =>
  environment === "production" ? [...noProvider(providers), ...unsafeInProduction(auth), ...weakAdminKey(adminKey)] : []

const noProvider = (providers: ReadonlyArray<ProviderConfig>): Faults =>
  providers.length > 0
    ? []
    : [
        {
          setting: "providers",
          problem: "is empty, and production has no mock provider",
          expected: "an entry in the settings file, or a vendor's key in the environment, such as OPENAI_API_KEY"
        }
      ]
