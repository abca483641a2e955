/** What a search text stands for. */
export interface Among {
  readonly models: ReadonlyArray<string>
  readonly keyIds: ReadonlyArray<string>
  readonly ownerIds: ReadonlyArray<string>
  readonly requestIds: ReadonlyArray<string>
}
