/**
 * What the client's `Cache-Control` asks: `no-cache` answers fresh and stores, `no-store` does neither read nor store. A `max-age` asks
 * for the cache also where it would not be used otherwise, for an answer that is younger than this; 0 answers fresh and stores.
 */
export type CacheControl = "use" | "no-cache" | "no-store" | { readonly maxAgeSeconds: number }

/** Whether no answer that was given before will do. */
export const asksAfresh = (control: CacheControl): boolean =>
  control === "no-cache" || (typeof control === "object" && control.maxAgeSeconds === 0)
