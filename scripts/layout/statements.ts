import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { importsOf, lineAt, visitSyntax } from './syntax.ts'

/** Files that decide what happens, in which order, or how it is answered. */
const WITHOUT_STATEMENTS = /^services\/[^/]+\/src\/(use-cases|routes|controllers)\//
/** The methods of a connection by which a query begins. */
const BEGINNINGS = /^(selectFrom|selectNoFrom|insertInto|replaceInto|updateTable|deleteFrom|mergeInto|executeQuery)$/

/**
 * A statement stands in a repository, or in another file of the noun whose tables it reads or writes. Routes
 * and controllers call repositories and use cases, and a use case decides the order of their calls: none of
 * them has `sql` of Kysely, and none begins a query at a connection (`db.selectFrom(…)`).
 */
export const statements: Rule = (tree) =>
  productionFiles(tree, 'services')
    .filter(({ path }) => WITHOUT_STATEMENTS.test(path))
    .flatMap((file) => [...importsOfSql(file), ...queriesOf(file)])

function importsOfSql(file: SourceFile): readonly Problem[] {
  return importsOf(file)
    .filter(
      ({ specifier, names, isWhole, isType }) =>
        specifier === 'kysely' && !isType && (isWhole || names.includes('sql')),
    )
    .map(({ line }) => ({ path: file.path, line, message: messageOf('sql') }))
}

function queriesOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    CallExpression({ callee, start }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return
      const { name } = callee.property
      if (!BEGINNINGS.test(name)) return
      problems.push({ path: file.path, line: lineAt(file.text, start), message: messageOf(`${name}(…)`) })
    },
  })
  return problems
}

function messageOf(what: string): string {
  return `${what} stands in a repository, or in a file of the noun that owns the table: call it from here`
}
