/** Size limits of cache entries, for the memory and the Redis layer. */

/** Larger values are not stored: one of them would displace a thousand ordinary replies. */
export const maxEntryBytes = 2 * 1024 * 1024

/** Total size of all entries in memory. */
export const maxMemoryBytes = 256 * 1024 * 1024

/** Upper bound of the memory that key and value occupy: two bytes per UTF-16 unit. */
export const cachedBytes = (key: string, value: string): number => 2 * (key.length + value.length)
