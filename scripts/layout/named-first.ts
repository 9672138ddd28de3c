import type { Statement } from 'oxc-parser'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, programOf } from './syntax.ts'

const USE_CASE = /^services\/[^/]+\/src\/use-cases\//

interface DeclaredFunction {
  readonly name: string
  readonly isExported: boolean
  readonly start: number
}

/**
 * The exported function that a file is named after is its first function, and its helpers stand below:
 * whoever opens a file by its name reads first what the file is for. Types and values may stand above.
 */
export const namedFirst: Rule = (tree) =>
  productionFiles(tree, 'services', 'packages', 'migrations', 'scripts', 'bench', 'examples').flatMap(problemsOf)

function problemsOf(file: SourceFile): readonly Problem[] {
  const named = nameOf(file.path)
  const functions = programOf(file).body.flatMap(functionsOf)
  const [first] = functions
  // Where a file is named after an act and exports what starts it, the act may be private.
  const found = functions.find(({ name, isExported }) => name === named && (isExported || USE_CASE.test(file.path)))
  if (first === undefined || found === undefined || found === first) return []
  const message = `${named} stands below ${first.name}: the function that a file is named after comes first`
  return [{ path: file.path, line: lineAt(file.text, found.start), message }]
}

/** `payOut` of `use-cases/pay-out.ts`. */
function nameOf(path: string): string {
  const base = path.slice(path.lastIndexOf('/') + 1).replace(/\.ts$/, '')
  return base.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The functions that a statement at the top of a file declares, also as constants. */
function functionsOf(statement: Statement): readonly DeclaredFunction[] {
  const isExported = statement.type === 'ExportNamedDeclaration'
  const { start } = statement
  const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
  if (declared?.type === 'FunctionDeclaration') {
    return declared.id ? [{ name: declared.id.name, isExported, start }] : []
  }
  if (declared?.type !== 'VariableDeclaration') return []
  return declared.declarations.flatMap(({ id, init }) =>
    id.type === 'Identifier' && /^(?:Arrow)?FunctionExpression$/.test(init?.type ?? '')
      ? [{ name: id.name, isExported, start }]
      : [],
  )
}
