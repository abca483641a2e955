/**
 * Rows of our own tables: one column per member of a record, in snake case. A row that does not
 * decode is a defect, because only this program writes them. The defect names the table.
 */
import { Effect, Schema, String as Str } from "effect"

/** `struct` is the record. Its members must be encoded the way JSON encodes them. */
export const tableOf = <A extends object>(
  name: string,
  struct: Schema.Codec<A, unknown> & { readonly fields: { readonly [Member in keyof A]: unknown } }
) => {
  const columns = new Map(Object.keys(struct.fields).map((member) => [member, Str.camelToSnake(member)]))
  const decode = Schema.decodeUnknownEffect(Schema.Array(struct))
  const recordOf = (row: Readonly<Record<string, unknown>>): object =>
    Object.fromEntries([...columns].map(([member, column]) => [member, row[column]]))

  return {
    /** The names of all columns, in order. */
    columns: [...columns.values()] as ReadonlyArray<string>,
    /** Decodes rows that have at least every column. */
    decode: (rows: ReadonlyArray<object>): Effect.Effect<ReadonlyArray<A>> =>
      Effect.catchTag(decode(rows.map((row) => recordOf({ ...row }))), "SchemaError", (error) =>
        Effect.die(new Error(`a row of ${name} cannot be read, which is impossible: ${error.message}`))
      ),
    /**
     * Encodes a record, or a part of one, as JSON for `jsonb_populate_record`. Absent members stay
     * absent.
     */
    encode: (record: Partial<A>): Readonly<Record<string, unknown>> =>
      Object.fromEntries(
        Object.entries(record).flatMap(([member, value]) => {
          const column = columns.get(member)
          return column === undefined || value === undefined ? [] : [[column, value]]
        })
      )
  }
}

/** `a, b, c` as SQL text, or `x.a, x.b, x.c` with an alias. */
export const columnList = (columns: ReadonlyArray<string>, alias?: string): string =>
  columns.map((column) => (alias === undefined ? column : `${alias}.${column}`)).join(", ")
