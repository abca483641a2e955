/** The fields of the filters, and a chip for each filter that is set, which removes it. */
import { call } from "../client.ts"
import { words } from "../format.ts"
import { type Source } from "../keys/source.ts"
import { SelectField, TextField } from "../parts/Field.tsx"
import { Icon } from "../parts/Icon.tsx"
import { useLoad } from "../useLoad.ts"
import { type SetQuery } from "../useQuery.ts"
import { errorTypes } from "./remedies.ts"
import { type ActiveFilter, ends, type FilterName, type FilterQuery, statuses } from "./filters.ts"

interface Offers {
  readonly data: ReadonlyArray<{ readonly id: string; readonly providers: ReadonlyArray<{ readonly slug: string }> }>
}

/** All models, for operators. Users enter a model as text. */
const useOffers = ({ isOwn }: Source): Offers["data"] => {
  const offers = useLoad("models", async (signal) =>
    isOwn ? { data: [] } : await call<Offers>("/v1/admin/models", { signal })
  )
  return offers.data?.data ?? []
}

interface FiltersProps {
  readonly source: Source
  readonly query: FilterQuery
  readonly set: SetQuery<FilterName>
  /** The number of filters that are set. */
  readonly active: number
}

export const Filters = ({ active, query, set, source }: FiltersProps) => {
  const offers = useOffers(source)
  const slugs = [...new Set(offers.flatMap(({ providers }) => providers.map(({ slug }) => slug)))].sort()
  const pick = (name: FilterName) => (value: string) => set({ [name]: value })
  /** An option for a value of the address that the list lacks. */
  const offered = (value: string, values: ReadonlyArray<string>) =>
    value === "" || values.includes(value) ? values : [value, ...values]
  return (
    <details class="more-filters" open={matchMedia("(width >= 52rem)").matches}>
      <summary>Filters{active === 0 ? "" : ` (${active})`}</summary>
      <div class="filters">
        <SelectField
          label="End"
          value={query.end}
          onValue={pick("end")}
          options={[["", "any"], ...offered(query.end, ends)]}
        />
        <SelectField
          label="Status"
          value={query.status}
          onValue={pick("status")}
          options={[["", "any"], ...offered(query.status, statuses)]}
        />
        <SelectField
          label="Error type"
          value={query.type}
          onValue={pick("type")}
          options={[["", "any"], ...offered(query.type, errorTypes).map((type) => [type, words(type)] as const)]}
        />
        <TextField
          label="Model"
          value={query.model}
          onValue={(model) => set({ model }, "replace")}
          placeholder="any, by its whole id"
          list={offers.map(({ id }) => id)}
        />
        {source.isOwn ? null : (
          <SelectField
            label="Tried provider"
            value={query.provider}
            onValue={pick("provider")}
            options={[["", "any"], ...offered(query.provider, slugs)]}
          />
        )}
        <SelectField
          label="With"
          value={query.fallback !== "" ? "fallback" : query.cache !== "" ? "cache" : ""}
          onValue={(mark) => set({ fallback: mark === "fallback" ? "yes" : "", cache: mark === "cache" ? "yes" : "" })}
          options={[
            ["", "anything"],
            ["fallback", "a fallback"],
            ["cache", "a cache hit"]
          ]}
        />
      </div>
    </details>
  )
}

interface ChipsProps {
  readonly of: ReadonlyArray<ActiveFilter>
  readonly onRemove: (name: FilterName) => void
  readonly onClear: () => void
}

export const Chips = ({ of, onClear, onRemove }: ChipsProps) =>
  of.length === 0 ? null : (
    <ul class="chips" aria-label="Filters that are set">
      {of.map(({ name, words }) => (
        <li key={name}>
          <button type="button" aria-label={`Remove ${words}`} onClick={() => onRemove(name)}>
            {words}
            <Icon name="close" />
          </button>
        </li>
      ))}
      <li>
        <button type="button" class="button bare small" onClick={onClear}>
          Clear all
        </button>
      </li>
    </ul>
  )
