/** The mock provider beside those of the operator, as development has it. */
import { type ProviderConfig } from "../../domain/Catalog.ts"
import { mockProvider } from "../../providers/presets/Mock.ts"

/** Leaves the mock provider out where an entry has its slug or serves one of its models. */
export const withMock = (providers: ReadonlyArray<ProviderConfig>): ReadonlyArray<ProviderConfig> => {
  const names = new Set(providers.flatMap(({ models, slug }) => [slug, ...models.map(({ id }) => id)]))
  const isTaken = [mockProvider.slug, ...mockProvider.models.map(({ id }) => id)].some((name) => names.has(name))
  return isTaken ? providers : [...providers, mockProvider]
}
