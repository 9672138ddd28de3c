import { isBuiltin } from 'node:module'
import type { Expression } from 'oxc-parser'
import { z } from 'zod'
import { placesOf, shortestWay } from './import-graph.ts'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { type ImportedModule, importsOf, lineAt, programOf, visitSyntax } from './syntax.ts'

/** Files of services with outside effects, without extension, by reason and folder. */
const LIST = 'scripts/layout/impure-files.json'
const Reasons = z.record(z.string(), z.record(z.string(), z.array(z.string())))

/** Folders and files that connect rules to the outside. */
const OUTER =
  /^services\/[^/]+\/src\/((adoption\/)?(routes|controllers|use-cases|plugins|commands|config)\/|(app|config|database|deps|error-body|main|migrations|open-database|open-telemetry|openapi(-hooks)?)\.ts$)/
/** Names of files that query the database, alone or by group commit, work on jobs, or call a gateway. */
const OUTER_NAME = /-(repository|jobs?|group)\.ts$|\/gateways\//

/**
 * Every file of a service, except in the folders that connect its parts, depends only on its arguments. The file and its imports
 * do not use the disk, the network, the database, the clock, the environment, the terminal or randomness. Other files have a name
 * such as repository or job, or are in the list. A type of an outer module counts only in the file itself: a function that takes
 * a connection as an argument uses the database.
 */
export const pureFiles: Rule = (tree) => {
  const folders = Object.values(Reasons.parse(JSON.parse(tree.read(LIST) ?? '{}'))).flatMap(Object.entries<string[]>)
  const listed = folders.flatMap(([folder, names]) => names.map((name) => `${folder}/${name}.ts`))
  const files = new Map(productionFiles(tree, 'services', 'packages').map((file) => [file.path, file]))
  const wayFrom = waysOutside(files)
  const ways = new Map(
    [...files.keys()].filter(isPureByPlace).flatMap((path) => {
      const way = wayFrom(path)
      return way === undefined ? [] : [[path, way]]
    }),
  )
  return [
    ...[...ways]
      .filter(([path]) => !listed.includes(path))
      .map(([path, way]): Problem => ({ path, message: `is pure by its place, but reaches ${way.join(' → ')}` })),
    ...listed
      .filter((path) => !ways.has(path))
      .map((path) => ({ path: LIST, message: `lists ${path}, which is pure or not there` })),
  ]
}

function isPureByPlace(path: string): boolean {
  return path.startsWith('services/') && !OUTER.test(path) && !OUTER_NAME.test(path)
}

/**
 * Finds for each file the module or global by which it reaches outside.
 * @returns a function from a path to the chain of files, or `undefined` for a pure file
 */
function waysOutside(files: ReadonlyMap<string, SourceFile>): (path: string) => readonly string[] | undefined {
  const outside = new Map([...files].map(([path, file]) => [path, outsideUses(file)[0]]))
  const values = new Map([...files].map(([path, file]) => [path, valuesFrom(file, files)]))
  return (path) => {
    const own = outside.get(path)
    if (own !== undefined) return [own]
    const way = shortestWay(
      path,
      (from) => values.get(from) ?? [],
      (to) => outside.get(to) !== undefined,
    )
    return way && [...way.slice(1), ...way.slice(-1).map((last) => outside.get(last) ?? '')]
  }
}

/** Returns the files that declare the values which a file imports. The entry of a package only re-exports its files. */
function valuesFrom(file: SourceFile, files: ReadonlyMap<string, SourceFile>): readonly string[] {
  return importsOf(file)
    .filter(({ isType }) => !isType)
    .flatMap((imported) =>
      placesOf(file.path, imported.specifier).flatMap((path) => placesPassedOn(files.get(path), imported) ?? [path]),
    )
}

/**
 * Returns the places from which an entry re-exports the imported names. `undefined` for any other file, or if a name is not
 * found.
 */
function placesPassedOn(entry: SourceFile | undefined, { names, isWhole }: ImportedModule): string[] | undefined {
  if (entry === undefined || isWhole) return undefined
  if (!programOf(entry).body.every((node) => node.type === 'ExportNamedDeclaration' && node.source)) return undefined
  const sources = names.map((name) => importsOf(entry).find((source) => source.names.includes(name)))
  return sources.includes(undefined)
    ? undefined
    : sources.flatMap((source) => placesOf(entry.path, source?.specifier ?? ''))
}

/** Modules whose results depend only on their arguments, in addition to `node:crypto`. */
const PURE_MODULES = new Set(['node:buffer', 'node:path/posix', 'node:querystring', 'node:url', 'node:util'])
const PURE_PACKAGES = new Set([
  '@simplewebauthn/server/helpers',
  'csv-parse',
  'entities',
  'ibantools',
  'ipaddr.js',
  'jose',
  'leven',
  'libphonenumber-js/min',
  'lru-cache',
  'negotiator',
  'otpauth',
  'stream-chain/defs.js',
  'stream-json/core/assembler.js',
  'stream-json/core/parser.js',
  'uqr',
  'zod',
])
/** The files in which a service declares its tables, and the types of connections. */
const TABLES = /^\.{1,2}\/(\.\.\/)*(database|transaction)\.ts$/
const CONNECTION = /\b(Db|Trx)\b/
/** Exports of `node:crypto` that depend on more than their arguments. */
const RANDOM = /^(random|generate|getRandom|webcrypto|subtle)/
/** Pure exports of impure modules: types of rows, formats of addresses, and error classes. */
const PURE_EXPORTS: ReadonlyMap<string, RegExp> = new Map([
  ['kysely', /^(ColumnType|Generated|GeneratedAlways|Insertable|JSONColumnType|Selectable|Updateable)$/],
  ['node:net', /^(isIP|isIPv4|isIPv6|BlockList)$/],
  ['oauth4webapi', /^ResponseBodyError$/],
  ['pg', /^DatabaseError$/],
])

/** Globals for the terminal, network, environment, randomness or clock, or that run text which no rule checks. */
const GLOBALS = new Set([
  'console',
  'process',
  'performance',
  'crypto',
  'fetch',
  'globalThis',
  'global',
  'WebSocket',
  'EventSource',
  'BroadcastChannel',
  'navigator',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'Function',
  'eval',
])
/** Impure members of otherwise pure globals. */
const MEMBERS = new Set(['Math.random', 'Date.now', 'AbortSignal.timeout', 'Atomics.wait', 'Atomics.waitAsync'])
/** Globals whose impure members would not be found under an alias. */
const ALIASED = new Set(['Date', 'Math', 'AbortSignal', 'Atomics'])
/** Methods of `Intl.DateTimeFormat` that format the current time if called without an argument. */
const FORMATS = /^format(ToParts)?$/

/** The modules and globals by which a file's own code reaches outside, in order. */
function outsideUses(file: SourceFile): readonly string[] {
  const takesConnection = CONNECTION.test(file.text)
  const modules = importsOf(file)
    .filter((imported) => isOutside(imported) || (takesConnection && TABLES.test(imported.specifier)))
    .map(({ specifier }) => specifier)
  return [...modules, ...globalsOf(file)]
}

function isOutside({ specifier, names, typeNames, isWhole }: ImportedModule): boolean {
  if (/^(\.|@trestle\/)/.test(specifier)) return false
  if (specifier === 'node:crypto') return isWhole || names.some((name) => RANDOM.test(name))
  const pure = PURE_EXPORTS.get(specifier)
  const all = [...names, ...typeNames]
  if (pure !== undefined && !isWhole && all.length > 0) return all.some((name) => !pure.test(name))
  return isBuiltin(specifier) ? !PURE_MODULES.has(specifier) : !PURE_PACKAGES.has(specifier)
}

/** Includes names that a file declares itself, because a parameter `fetch` would mislead readers. Excludes keys of objects. */
function globalsOf(file: SourceFile): readonly string[] {
  const found: { readonly name: string; readonly start: number }[] = []
  const keys = new Set<number>()
  const addAlias = (value: Expression | null): void => {
    const named = value && bare(value)
    if (named?.type === 'Identifier' && ALIASED.has(named.name)) found.push({ name: named.name, start: named.start })
  }
  visitSyntax(file, {
    Property: ({ key, computed, shorthand }) => void (computed || shorthand || keys.add(key.start)),
    PropertyDefinition: ({ key, computed }) => void (computed || keys.add(key.start)),
    MethodDefinition: ({ key, computed }) => void (computed || keys.add(key.start)),
    TSPropertySignature: ({ key }) => void keys.add(key.start),
    TSMethodSignature: ({ key }) => void keys.add(key.start),
    MemberExpression({ object, property, computed, start }) {
      if (!computed) keys.add(property.start)
      const owner = bare(object)
      if (owner.type !== 'Identifier') return
      const member =
        property.type === 'Identifier' && !computed ? property.name : 'value' in property ? property.value : ''
      const name = `${owner.name}.${member}`
      if (MEMBERS.has(name)) found.push({ name, start })
    },
    AssignmentExpression: ({ right }) => addAlias(right),
    AssignmentPattern: ({ right }) => addAlias(right),
    VariableDeclarator({ id, init }) {
      if (id.type === 'Identifier') addAlias(init)
      if (id.type !== 'ObjectPattern' || init?.type !== 'Identifier') return
      for (const taken of id.properties) {
        if (taken.type !== 'Property' || taken.key.type !== 'Identifier') continue
        const name = `${init.name}.${taken.key.name}`
        if (MEMBERS.has(name)) found.push({ name, start: taken.start })
      }
    },
    NewExpression({ callee, arguments: given, start }) {
      if (isDate(callee) && given.length === 0) found.push({ name: 'new Date()', start })
    },
    CallExpression({ callee, arguments: given, start }) {
      if (isDate(callee)) found.push({ name: 'Date()', start })
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier' || given.length > 0) return
      if (FORMATS.test(callee.property.name)) found.push({ name: `${callee.property.name}()`, start })
    },
    Identifier({ name, start }) {
      if (GLOBALS.has(name)) found.push({ name, start })
    },
  })
  return found
    .filter(({ start, name }) => name.includes('.') || !keys.has(start))
    .sort((a, b) => a.start - b.start)
    .map(({ name }) => name)
}

/** Removes the parentheses around an expression. */
function bare(expression: Expression): Expression {
  return expression.type === 'ParenthesizedExpression' ? bare(expression.expression) : expression
}

function isDate(callee: Expression): boolean {
  const named = bare(callee)
  return named.type === 'Identifier' && named.name === 'Date'
}

const exempt = [
  /\/src\/(main|deps|config)\.ts$/,
  /\/src\/config\//,
  /^packages\/(stack|testing)\//,
  // Programs that no file imports.
  /^packages\/[^/]+\/(examples|scripts)\//,
]

const reads = new Set(['process.env', 'Date.now', 'performance.timeOrigin'])

/**
 * Only `main.ts`, `deps.ts` and config read the environment and the clock. All other code takes them as arguments, so that tests
 * can fix them. `performance.now()` is allowed, because it measures durations, not the time of day.
 */
export const clockAndEnvironment: Rule = (tree) =>
  productionFiles(tree, 'services', 'packages', 'migrations')
    .filter(({ path }) => !exempt.some((pattern) => pattern.test(path)))
    .flatMap(readsOf)

function readsOf(file: SourceFile): readonly Problem[] {
  const problems: Problem[] = []
  const report = (what: string, line: number): void => {
    problems.push({
      path: file.path,
      line,
      message: `${what} outside main.ts, deps.ts and config: take it as an argument`,
    })
  }
  visitSyntax(file, {
    MemberExpression(node) {
      if (node.object.type !== 'Identifier' || node.property.type !== 'Identifier') return
      const name = `${node.object.name}.${node.property.name}`
      if (reads.has(name)) report(name, lineAt(file.text, node.start))
    },
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0) {
        report('new Date()', lineAt(file.text, node.start))
      }
    },
  })
  for (const { specifier, names, line } of importsOf(file)) {
    if (/^(node:)?process$/.test(specifier) && names.includes('env')) report('process.env', line)
  }
  return problems
}
