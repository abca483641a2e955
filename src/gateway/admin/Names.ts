/** The names of keys and the addresses of users, by their ids, for lists that show both. */
import { Context, Effect, Layer } from "effect"
import { KeyRepo } from "../../store/keys/KeyRepo.ts"
import { Users } from "../../store/people/Users.ts"
import { type StoreError } from "../../store/StoreError.ts"

/** Whom a row is of. Null: nobody. */
export interface Owned {
  readonly keyId: string | null
  readonly ownerId: string | null
}

export class Names extends Context.Service<
  Names,
  {
    /** One read of each store, whatever the number of rows. Unknown ids are left out. */
    readonly of: (rows: ReadonlyArray<Owned>) => Effect.Effect<ReadonlyMap<string, string>, StoreError>
  }
>()("tollgate/gateway/admin/Names") {
  static readonly layer = Layer.effect(
    Names,
    Effect.gen(function* () {
      const keys = yield* KeyRepo
      const users = yield* Users
      const none: ReadonlyMap<string, string> = new Map()
      const of = Effect.fnUntraced(function* (rows: ReadonlyArray<Owned>) {
        const keyIds = [...new Set(rows.flatMap(({ keyId }) => keyId ?? []))]
        const ownerIds = [...new Set(rows.flatMap(({ ownerId }) => ownerId ?? []))]
        return new Map([
          ...(keyIds.length === 0 ? none : yield* keys.named(keyIds)),
          ...(ownerIds.length === 0 ? none : yield* users.named(ownerIds))
        ])
      })
      return Names.of({ of })
    })
  )
}
