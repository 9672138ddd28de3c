import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { importsOf, lineAt, visitSyntax } from './syntax.ts'

/** Files that determine the order of steps or format the answer. */
const WITHOUT_STATEMENTS = /^services\/[^/]+\/src\/(use-cases|routes|controllers)\//
/** The methods of a connection that begin a query. */
const BEGINNINGS = /^(selectFrom|selectNoFrom|insertInto|replaceInto|updateTable|deleteFrom|mergeInto|executeQuery)$/

/**
 * A statement is in a repository, or in another file of the module whose tables it uses. Routes and controllers call repositories
 * and use cases, and a use case determines the order of the calls. None of them uses Kysely's `sql` or begins a query on a
 * connection (`db.selectFrom(…)`).
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

function messageOf(code: string): string {
  return `${code} stands in a repository, or in a file of the module that owns the table: call it from here`
}

const BEYOND_ASCII = /[^\0-\x7f]/g

/**
 * SQL that a program sends is ASCII, including its comments. PostgreSQL converts the whole text to the database's encoding and
 * refuses characters that the encoding lacks. Adopted databases may have any encoding.
 */
export const asciiSql: Rule = (tree) => [
  ...tree.files
    .filter(({ path }) => /^migrations\/.*\.sql$/.test(path))
    .flatMap((file) => charactersOf(file, file.text, 0)),
  ...['migrations', 'packages', 'services'].flatMap((folder) =>
    productionFiles(tree, folder).flatMap(templateProblems),
  ),
]

function templateProblems(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  visitSyntax(file, {
    TaggedTemplateExpression({ tag, quasi }) {
      if (tag.type !== 'Identifier' || tag.name !== 'sql') return
      problems.push(...quasi.quasis.flatMap(({ value, start }) => charactersOf(file, value.raw, start)))
    },
  })
  return problems
}

function charactersOf({ path, text }: SourceFile, part: string, start: number): readonly Problem[] {
  return [...part.matchAll(BEYOND_ASCII)].map(({ 0: character, index }) => ({
    path,
    line: lineAt(text, start + index),
    message: `has ${character} in its SQL, which not every database can have: write it in ASCII`,
  }))
}

/**
 * Adoptions and imports wait for locks and then read rows that others have changed in the meantime. If the database's
 * `default_transaction_isolation` is `repeatable read`, a transaction sees the rows as they were before its wait. So these
 * transactions set their isolation level, usually by `inLatest`.
 */
export const latestSnapshots: Rule = (tree) =>
  productionFiles(tree, 'services').filter(isOfAdoption).flatMap(unnamedLevels)

function isOfAdoption({ path }: SourceFile): boolean {
  return /\/src\/(adoption|schema)\//.test(path)
}

function unnamedLevels({ path, text }: SourceFile): readonly Problem[] {
  return [...text.matchAll(/\.transaction\(\)(?!\s*\.setIsolationLevel\()/g)].map(({ index }) => ({
    path,
    line: lineAt(text, index),
    message:
      'a transaction without an isolation level may see what was there before it waited for a lock: use inLatest',
  }))
}
