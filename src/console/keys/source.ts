/** The endpoints of a page: those for all keys (operators) or for a user's own. */

export interface Source {
  readonly keys: string
  readonly generations: string
  readonly requests: string
  readonly usage: string
  readonly isOwn: boolean
}

export const everyone: Source = {
  keys: "/v1/keys",
  generations: "/v1/admin/generations",
  requests: "/v1/admin/requests",
  usage: "/v1/admin/usage",
  isOwn: false
}

export const own: Source = {
  keys: "/v1/portal/keys",
  generations: "/v1/portal/generations",
  requests: "/v1/portal/requests",
  usage: "/v1/portal/usage",
  isOwn: true
}
