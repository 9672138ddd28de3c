import { type Problem, productionFiles, type Rule, type SourceFile, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** Longest own name of a table, index, constraint, function or sequence; the prefix of DB_NAMESPACE comes on top. */
export const nameLengthMax = 30

/** Names of supabase/auth, whose tables auth makes column by column: they stay as they are there, however long. */
const upstreamNames = new Set([
  'identities_provider_id_provider_unique',
  'mfa_amr_claims_session_id_authentication_method_pkey',
  'mfa_factors_last_challenged_at_key',
  'mfa_factors_user_friendly_name_unique',
  'users_email_change_confirm_status_check',
])

const naming = new Set([
  'id',
  'local',
  'createTable',
  'createIndex',
  'createView',
  'createType',
  'addPrimaryKeyConstraint',
  'addUniqueConstraint',
  'addForeignKeyConstraint',
  'addCheckConstraint',
])

/** Numbers do not repeat, each service lists all its files in order, and the names that they make are short. */
export const migrationFiles: Rule = (tree) => {
  const lists = productionFiles(tree, 'migrations').filter(({ path }) => /^migrations\/[^/]+\.ts$/.test(path))
  return [
    ...lists.flatMap((list) => listedFiles(tree, list)),
    ...productionFiles(tree, 'migrations').filter(isMigration).flatMap(longNames),
  ]
}

function isMigration({ path }: SourceFile): boolean {
  return /^migrations\/[^/]+\/\d{4}-[^/]+\.ts$/.test(path)
}

function listedFiles(tree: SourceTree, list: SourceFile): readonly Problem[] {
  const folder = list.path.replace(/\.ts$/, '')
  const names = productionFiles(tree, folder)
    .filter(isMigration)
    .map(({ path }) => path.slice(folder.length + 1, -'.ts'.length))
  const problems = names.flatMap((name, i): Problem[] =>
    names[i - 1]?.slice(0, 4) === name.slice(0, 4)
      ? [{ path: `${folder}/${name}.ts`, message: `number ${name.slice(0, 4)} is taken by ${names[i - 1]}` }]
      : [],
  )
  const listed = keysOf(list)
  if (listed.join() !== names.join()) {
    const missing = names.filter((name) => !listed.includes(name))
    const message = missing.length > 0 ? `does not list ${missing.join(', ')}` : 'lists other files, or another order'
    return [...problems, { path: list.path, message }]
  }
  return problems
}

/** The quoted, numbered keys of the list: `'0001-create-users': createUsers`. */
function keysOf(list: SourceFile): readonly string[] {
  const keys: string[] = []
  visitSyntax(list, {
    Property(node) {
      if (node.key.type === 'Literal' && /^\d{4}-/.test(String(node.key.value))) keys.push(String(node.key.value))
    },
  })
  return keys
}

function longNames(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  const check = (name: string, offset: number): void => {
    if (name.length <= nameLengthMax || upstreamNames.has(name)) return
    const message = `${name} has ${name.length} characters; a name in the database has at most ${nameLengthMax}`
    problems.push({ path: file.path, line: lineAt(file.text, offset), message })
  }
  visitSyntax(file, {
    CallExpression(node) {
      const [first] = node.arguments
      if (node.callee.type !== 'MemberExpression' || node.callee.property.type !== 'Identifier') return
      if (!naming.has(node.callee.property.name)) return
      if (first?.type === 'Literal' && typeof first.value === 'string') check(first.value, first.start)
    },
    TemplateElement(node) {
      for (const found of node.value.raw.matchAll(/\bCONSTRAINT\s+(\w+)/gi)) {
        check(found[1] ?? '', node.start + (found.index ?? 0))
      }
    },
  })
  return problems
}
