/**
 * Makes a codec that decodes like another one, with the same first issue, but may pause before each
 * entry of a list. Everything between lists is decoded without a pause, because the number of an
 * object's members is bounded (JsonShape).
 */
import { Effect, Exit, Schema, SchemaAST, SchemaGetter } from "effect"
import { type Turns } from "../../domain/runtime/Turns.ts"

/**
 * Restricts an index signature to the names without a schema of their own. Otherwise each object
 * would also be traversed as a whole for this signature, without a pause, although the other
 * schemas decode its members.
 */
const otherThan = ({ propertySignatures }: SchemaAST.Objects, parameter: SchemaAST.AST): SchemaAST.AST => {
  if (propertySignatures.length === 0 || parameter !== Schema.String.ast) return parameter
  const known = new Set(propertySignatures.map(({ name }) => name))
  return Schema.String.check(Schema.makeFilter((name: string) => !known.has(name))).ast
}

export const pausing = <T>(codec: Schema.Decoder<T>, turns: Turns): Schema.Decoder<T> => {
  const pause = SchemaGetter.transformEffect((entry: unknown) =>
    turns.isOver() ? Effect.as(turns.next, entry) : Exit.succeed(entry)
  )
  const paused = (entry: SchemaAST.AST): SchemaAST.AST =>
    Schema.Unknown.pipe(
      Schema.decodeTo(Schema.make<Schema.Codec<unknown>>(within(entry)), {
        decode: pause,
        encode: SchemaGetter.passthrough()
      })
    ).ast

  /** Transformed values are left unchanged. */
  const within = (ast: SchemaAST.AST): SchemaAST.AST => {
    if (ast.encoding !== undefined) return ast
    const { annotations, checks, context } = ast
    switch (ast._tag) {
      case "Arrays":
        return new SchemaAST.Arrays(
          ast.isMutable,
          ast.elements.map(within),
          ast.rest.map(paused),
          annotations,
          checks,
          undefined,
          context,
          ast.encodingChecks
        )
      case "Objects":
        return new SchemaAST.Objects(
          ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, within(type))),
          ast.indexSignatures.map(
            ({ parameter, type }) => new SchemaAST.IndexSignature(otherThan(ast, parameter), within(type))
          ),
          annotations,
          checks,
          undefined,
          context,
          ast.encodingChecks
        )
      case "Union":
        return new SchemaAST.Union(
          ast.types.map(within),
          ast.options,
          annotations,
          checks,
          undefined,
          context,
          ast.encodingChecks
        )
      default:
        return ast
    }
  }

  return Schema.make<Schema.Decoder<T>>(within(codec.ast))
}
