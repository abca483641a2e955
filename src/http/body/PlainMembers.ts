/** Tells the members of a body that decoding leaves as they are. */
import { type SchemaAST } from "effect"

/** True for a member without a default in which nothing is transformed, and for unknown members. */
export const plainMembers = (ast: SchemaAST.AST): ((name: string) => boolean) => {
  if (ast._tag !== "Objects") return () => false
  const changed = new Set(ast.propertySignatures.filter(({ type }) => !isPlain(type)).map(({ name }) => String(name)))
  return (name) => !changed.has(name)
}

const isPlain = (ast: SchemaAST.AST): boolean => {
  const { encoding } = ast
  if (ast._tag === "Unknown") return encoding === undefined || encoding.every(isCheck)
  if (encoding !== undefined) return false
  switch (ast._tag) {
    case "Arrays":
      return [...ast.elements, ...ast.rest].every(isPlain)
    case "Objects":
      return (
        // Without a schema for other members, decoding leaves them out.
        ast.indexSignatures.length > 0 &&
        ast.propertySignatures.every(({ type }) => isPlain(type)) &&
        ast.indexSignatures.every(({ parameter, type }) => isPlain(parameter) && isPlain(type))
      )
    case "Union":
      return ast.types.every(isPlain)
    case "String":
    case "Number":
    case "Boolean":
    case "Null":
    case "Literal":
      return true
    default:
      return false
  }
}

/** A codec for JSON checks that an unknown value is JSON, and passes it on. */
const isCheck = ({ to, transformation }: SchemaAST.Link): boolean =>
  to._tag === "Declaration" && transformation._tag === "Transformation" && transformation.decode._tag === "Passthrough"
