/** How large one cache entry may be, in either layer, and how large an entry counts as. */

/** Larger values are not kept: one of them would crowd out a thousand ordinary replies. */
export const maxEntryBytes = 2 * 1024 * 1024

/** Of all entries in memory. */
export const maxMemoryBytes = 256 * 1024 * 1024

/** Bytes that key and value occupy at most: two a UTF-16 unit. */
export const cachedBytes = (key: string, value: string): number => 2 * (key.length + value.length)
