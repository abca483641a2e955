/** What a provider does with prompts, in words. */
import { type ModelEntry } from "../../api/Models.ts"

export type Offer = (typeof ModelEntry.Type)["providers"][number]

export const policyOf = ({ retains_prompts, retention_days, training, zdr }: Offer["data_policy"]): string =>
  zdr && !training && !retains_prompts
    ? "keeps nothing, trains on nothing"
    : [
        training ? "may train on prompts" : "does not train",
        retains_prompts
          ? retention_days === null
            ? "retains prompts"
            : `retains prompts ${retention_days} days`
          : "does not retain"
      ].join(", ")
