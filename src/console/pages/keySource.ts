/** Whose keys a page is about: an operator's, which are all, or a user's own. */

export interface KeySource {
  readonly path: string
  readonly lead: string
  /** Whether it takes `limit`. */
  readonly isPaged: boolean
  /** Whether tier, budget and models are the caller's to choose freely. */
  readonly isAdmin: boolean
}

export const allKeys: KeySource = {
  path: "/v1/keys",
  lead: "Every key of this gateway. Only a hash of each secret is kept.",
  isPaged: true,
  isAdmin: true
}
