import { isBuiltin } from 'node:module'
import type { Expression } from 'oxc-parser'
import type { SourceFile } from './source-tree.ts'
import { type ImportedModule, importsOf, visitSyntax } from './syntax.ts'

/** Modules whose answers depend on their arguments alone, besides node:crypto. */
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
/** The files in which a service declares its tables, and the types of connections to them. */
const TABLES = /^\.{1,2}\/(\.\.\/)*(database|transaction)\.ts$/
const CONNECTION = /\b(Db|Trx)\b/
/** Exports of node:crypto that depend on more than their arguments. */
const RANDOM = /^(random|generate|getRandom|webcrypto|subtle)/
/** Exports of modules that reach outside otherwise: the types of rows, the form of addresses, and the class of an error. */
const PURE_EXPORTS: ReadonlyMap<string, RegExp> = new Map([
  ['kysely', /^(ColumnType|Generated|GeneratedAlways|Insertable|JSONColumnType|Selectable|Updateable)$/],
  ['node:net', /^(isIP|isIPv4|isIPv6|BlockList)$/],
  ['oauth4webapi', /^ResponseBodyError$/],
  ['pg', /^DatabaseError$/],
])

/** Globals that reach the terminal, the network, the environment, randomness or the clock, or run a text that no rule reads. */
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
/** Members of globals that are pure otherwise. */
const MEMBERS = new Set(['Math.random', 'Date.now', 'AbortSignal.timeout', 'Atomics.wait', 'Atomics.waitAsync'])
/** Globals whose impure members nobody would find under another name. */
const ALIASED = new Set(['Date', 'Math', 'AbortSignal', 'Atomics'])
/** The methods of `Intl.DateTimeFormat` that format the present moment when they have no argument. */
const FORMATS = /^format(ToParts)?$/

/** The modules and globals by which the code of a file itself reaches outside its arguments, in the order of the file. */
export function outsideUses(file: SourceFile): readonly string[] {
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

/** Names that a file declares itself count too: a parameter `fetch` would mislead a reader. Keys of objects do not. */
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

/** An expression without the parentheses around it. */
function bare(expression: Expression): Expression {
  return expression.type === 'ParenthesizedExpression' ? bare(expression.expression) : expression
}

function isDate(callee: Expression): boolean {
  const named = bare(callee)
  return named.type === 'Identifier' && named.name === 'Date'
}
