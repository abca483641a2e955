/**
 * The client's `Cache-Control`. `no-cache` stores a new answer, `no-store` neither reads nor
 * stores. A `max-age` uses the cache even where the settings would not, for answers younger than
 * this; 0 stores a new answer.
 */
export type CacheControl = "use" | "no-cache" | "no-store" | { readonly maxAgeSeconds: number }

/** Whether the client wants a new answer. */
export const wantsNewAnswer = (control: CacheControl): boolean =>
  control === "no-cache" || (typeof control === "object" && control.maxAgeSeconds === 0)
