/** Checks that every fallback model has a provider. */
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { type Faults } from "../Faults.ts"

/** Fallback models without a provider. */
export const unservedFallbacks = ({
  providers,
  routing
}: {
  readonly providers: ReadonlyArray<ProviderConfig>
  readonly routing: { readonly modelsFallback: ReadonlyArray<string> }
}): Faults => {
  const served = new Set(providers.flatMap(({ models }) => models.map(({ id }) => id)))
  return routing.modelsFallback.flatMap((model, index) =>
    served.has(model)
      ? []
      : [
          {
            setting: `routing.models_fallback[${index}]`,
            problem: "names a model that no provider serves",
            expected: "the id of a model of a provider"
          }
        ]
  )
}
