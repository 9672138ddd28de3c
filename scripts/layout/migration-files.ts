import { posix } from 'node:path'
import { type Problem, productionFiles, type Rule, type SourceFile, type SourceTree } from './source-tree.ts'
import { lineAt, visitSyntax } from './syntax.ts'

/** The maximum length of the name of a table, index, constraint, function or sequence, without the prefix of DB_NAMESPACE. */
export const nameLengthMax = 30

/** Names of supabase/auth, whose tables auth copies column by column. They stay unchanged, even if they are long. */
const upstreamNames = new Set([
  'identities_provider_id_provider_unique',
  'mfa_amr_claims_session_id_authentication_method_pkey',
  'mfa_factors_last_challenged_at_key',
  'mfa_factors_user_friendly_name_unique',
  'users_email_change_confirm_status_check',
])

const naming = new Set(['id', 'local'])

/**
 * Numbers have no gaps and are unique. Each service lists all its files in order, under their own names. A migration begins with
 * the reason for its tables, and the names that it creates are short.
 */
export const migrationFiles: Rule = (tree) => {
  const lists = productionFiles(tree, 'migrations').filter(({ path }) => /^migrations\/[^/]+\.ts$/.test(path))
  return [
    ...lists.flatMap((list) => listedFiles(tree, list)),
    ...productionFiles(tree, 'migrations')
      .filter(isMigration)
      .flatMap((file) => [...missingReason(file), ...longNames(file)]),
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
  const problems = [...numberProblems(folder, names), ...importProblems(list)]
  const listed = entriesOf(list).map(({ key }) => key)
  if (listed.join() !== names.join()) {
    const missing = names.filter((name) => !listed.includes(name))
    const message = missing.length > 0 ? `does not list ${missing.join(', ')}` : 'lists other files, or another order'
    return [...problems, { path: list.path, message }]
  }
  return problems
}

function numberProblems(folder: string, names: readonly string[]): readonly Problem[] {
  return names.flatMap((name, i): Problem[] => {
    const path = `${folder}/${name}.ts`
    const [before, number] = [names[i - 1], name.slice(0, 4)]
    if (before?.slice(0, 4) === number) return [{ path, message: `number ${number} is taken by ${before}` }]
    const next = String(Number(before?.slice(0, 4) ?? 0) + 1).padStart(4, '0')
    return number === next ? [] : [{ path, message: `number ${number} leaves a gap: the next is ${next}` }]
  })
}

function missingReason({ path, text }: SourceFile): readonly Problem[] {
  return text.startsWith('// ') ? [] : [{ path, message: 'does not begin with a comment that says why' }]
}

/** A database records a migration by name, so another file with the same name would never run. */
function importProblems(list: SourceFile): readonly Problem[] {
  const folder = posix.basename(list.path, '.ts')
  return entriesOf(list)
    .filter(({ key, imported }) => imported.join() !== `./${folder}/${key}.ts`)
    .map(({ key, imported, offset }) => ({
      path: list.path,
      line: lineAt(list.text, offset),
      message: `lists ${key}, and imports ${imported.join(', ') || 'nothing'}`,
    }))
}

/** An entry of a list: `'0001-create-users': inFile(() => import('./auth/0001-create-users.ts'))`. */
interface Entry {
  readonly key: string
  readonly imported: readonly string[]
  readonly offset: number
}

function entriesOf(list: SourceFile): readonly Entry[] {
  const entries: (Entry & { readonly imported: string[]; readonly end: number })[] = []
  visitSyntax(list, {
    Property({ key, start, end }) {
      if (key.type !== 'Literal' || !/^\d{4}-/.test(String(key.value))) return
      entries.push({ key: String(key.value), imported: [], offset: start, end })
    },
    ImportExpression({ source, start }) {
      const entry = entries.find(({ offset, end }) => offset < start && start < end)
      if (source.type === 'Literal') entry?.imported.push(String(source.value))
    },
  })
  return entries
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
