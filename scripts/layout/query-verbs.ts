import type { Function as FunctionNode } from 'oxc-parser'
import { productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { lineAt, programOf } from './syntax.ts'

const LIST = 'CONTRIBUTING.md'

/**
 * The name of a query begins with a verb of the table in CONTRIBUTING.md. A query is an exported function of a repository that
 * returns a promise or an asynchronous generator. Other functions there only make a value, such as a piece of SQL.
 */
export const queryVerbs: Rule = (tree) => {
  const files = productionFiles(tree, 'services').filter(({ path }) => path.endsWith('-repository.ts'))
  const queries = files.flatMap(queriesOf)
  const verbs = verbsOf(tree.read(LIST) ?? '')
  return queries
    .filter(({ name }) => !verbs.includes(/^[a-z]+(?![a-z])/.exec(name)?.[0] ?? ''))
    .map(({ name, path, line }) => ({ path, line, message: `${name} begins with no verb of the table in ${LIST}` }))
}

/** The rows of the table: `| \`insert…\`, \`update…\` | … |`. */
function verbsOf(text: string): readonly string[] {
  const rows = text.split('\n').filter((line) => /^\| `[a-z]+…`/.test(line))
  return rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z]+)…`/g)].flatMap(([, verb = '']) => verb))
}

interface Query {
  readonly name: string
  readonly path: string
  readonly line: number
}

function queriesOf(file: SourceFile): readonly Query[] {
  return programOf(file).body.flatMap((node) => {
    if (node.type !== 'ExportNamedDeclaration' || node.declaration === null) return []
    const { declaration, start } = node
    const place = { path: file.path, line: lineAt(file.text, start) }
    if (declaration.type === 'FunctionDeclaration' && declaration.id !== null) {
      return isQuery(declaration, file) ? [{ ...place, name: declaration.id.name }] : []
    }
    if (declaration.type !== 'VariableDeclaration') return []
    return declaration.declarations.flatMap(({ id, init }) =>
      id.type === 'Identifier' && init?.type === 'ArrowFunctionExpression' && isQuery(init, file)
        ? [{ ...place, name: id.name }]
        : [],
    )
  })
}

function isQuery({ async, returnType }: Pick<FunctionNode, 'async' | 'returnType'>, { text }: SourceFile): boolean {
  if (async || !returnType) return async
  return /^:\s*(Promise|Async\w+)</.test(text.slice(returnType.start, returnType.end))
}
