import type { Declaration } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, programOf } from './syntax.ts'

/** Numbered migrations, which all have the imported type `Migration`. */
const MIGRATION = /^migrations\/[^/]+\/\d{4}-[^/]+\.ts$/

/**
 * Exported functions declare their return type. Readers see the type in the signature, and a change of the body cannot change it
 * unnoticed. A constant with a type, such as `const rule: Rule`, also declares the return type.
 */
export const returnTypes: Rule = (tree) =>
  productionFiles(tree, 'bench', 'migrations', 'packages', 'scripts', 'services')
    .filter(({ path }) => !MIGRATION.test(path))
    .flatMap(untypedFunctions)

function untypedFunctions(file: SourceFile): readonly Problem[] {
  return programOf(file).body.flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration === null) return []
    return untypedNames(node.declaration).map((name) => ({
      path: file.path,
      line: lineAt(file.text, node.start),
      message: `exports ${name} without a return type: name what it returns`,
    }))
  })
}

function untypedNames(declaration: Declaration): readonly string[] {
  if (declaration.type === 'FunctionDeclaration' || declaration.type === 'TSDeclareFunction') {
    return declaration.returnType ? [] : [declaration.id?.name ?? 'a function']
  }
  if (declaration.type !== 'VariableDeclaration') return []
  return declaration.declarations.flatMap(({ id, init }) => {
    const isFunction = init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression'
    const isTyped = id.type === 'Identifier' && id.typeAnnotation
    return !isFunction || init.returnType || isTyped ? [] : [id.type === 'Identifier' ? id.name : 'a pattern']
  })
}
