/**
 * Members of the address's query as a page's state, such as its filters: Back, Forward and Reload
 * restore them, and an address can be sent to a colleague. Other members stay as they are.
 */
import { useCallback, useMemo } from "preact/hooks"
import { setSearch, useSearch } from "./router.tsx"

/**
 * Sets members; an empty text removes one. Typing replaces the address (`replace`), so that Back
 * undoes a pick and not a letter.
 */
export type SetQuery<Name extends string> = (
  changes: Readonly<Partial<Record<Name, string>>>,
  how?: "push" | "replace"
) => void

/** Members that the address lacks are empty texts. `names` is a constant of the page. */
export const useQuery = <Name extends string>(
  names: ReadonlyArray<Name>
): readonly [query: Readonly<Record<Name, string>>, set: SetQuery<Name>] => {
  const search = useSearch()
  const query = useMemo(() => {
    const members = new URLSearchParams(search)
    return Object.fromEntries(names.map((name) => [name, members.get(name) ?? ""])) as Record<Name, string>
  }, [search])
  const set = useCallback<SetQuery<Name>>((changes, how = "push") => {
    const members = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries<string | undefined>(changes)) {
      if (value === undefined || value === "") members.delete(name)
      else members.set(name, value)
    }
    setSearch(members, how)
  }, [])
  return [query, set]
}
