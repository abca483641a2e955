/** Names of a request's members that are told to the client, in a header and on its receipt. */

/** Most names that are told, and the form of a name that is. Others are the client's own text. */
const MOST_NAMES = 32
const plainName = /^[A-Za-z_][A-Za-z0-9_.]{0,63}$/

/** Once each, bounded. */
export const toldNames = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...new Set(names.map((name) => (plainName.test(name) ? name : "other")))].slice(0, MOST_NAMES)
