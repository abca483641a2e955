/**
 * A codec that decodes as another one does, with the same first issue, but looks before each entry of a list whether its turn
 * is over. What is no list inside is decoded in one go: the number of an object's members is bounded (JsonShape).
 */
import { Effect, Exit, Schema, SchemaAST, SchemaGetter } from "effect"
import { type Turns } from "../../domain/Turns.ts"

/**
 * The names that an index signature is about, without those that have a schema of their own: else each object looks through all that
 * is below it, in one go, for what these schemas look for anyway.
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

  /** What is transformed on its way in stays as it is. */
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
