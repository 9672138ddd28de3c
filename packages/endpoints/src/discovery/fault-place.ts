import { type AnyNode, parse } from 'acorn'
import { z } from 'zod'

/** The maximum number of modules to search for a syntax error if the runtime does not report its place. */
const MODULES_MAX = 2_000

/** In Bun, the error has a member with the place. If there are several errors, the first one has it. */
const Positioned = z
  .object({ position: z.object({ file: z.string(), line: z.number(), column: z.unknown() }) })
  .transform(({ position: { file, line, column } }) => `${file}:${line}:${column}`)
const BunFault = z.union([
  Positioned,
  z.object({ errors: z.tuple([Positioned], z.unknown()) }).transform(({ errors: [first] }) => first),
])
const AcornFault = z.object({ loc: z.object({ line: z.number(), column: z.number() }) })

/**
 * Returns the place of an import error as `file:line:column`. Reads it from the stack, or parses the module and its imports to
 * find it. Returns `undefined` if it finds no place.
 */
export function placeOfFault(cause: unknown, file: string): string | undefined {
  const place = BunFault.safeParse(cause).data ?? placeInStack(cause) ?? placeOfMissing(cause)
  return place ?? (cause instanceof SyntaxError ? syntaxFault(file) : undefined)
}

function placeInStack(cause: unknown): string | undefined {
  if (!(cause instanceof Error) || cause.stack === undefined) return undefined
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Deno colours its messages
  const stack = cause.stack.replaceAll(/\x1b\[\d+m/g, '')
  const own = new URL('..', import.meta.url).href
  const frames = [/^(file:\S+?):(\d+)$/m, /\b(file:[^\s()]+?):(\d+:\d+)/g, /(?<=[\s(])(\/[^\s()]+?):(\d+:\d+)/g]
  const places = frames
    .flatMap((frame) => [...stack.matchAll(new RegExp(frame, 'gm'))])
    .flatMap(([, where = '', line = '']) => (where.startsWith(own) ? [] : [`${toPath(where)}:${line}`]))
  // For an error inside a package, name the line of the application that called the package.
  return places.find((place) => !place.includes('/node_modules/')) ?? places[0]
}

/** Finds the line that imports a missing module. Node.js names the importing file but not the line. */
function placeOfMissing(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined
  const [, missing = '', importer = ''] = /'([^']+)' imported from (\S+)$/m.exec(cause.message) ?? []
  const name = missing.slice(missing.lastIndexOf('/') + 1)
  const at = name === '' ? -1 : linesOf(importer).findIndex((line) => line.includes(name))
  return at === -1 ? undefined : `${importer}:${at + 1}`
}

/** Returns the path of a file URL, without the version of a reloaded module. */
function toPath(where: string): string {
  const [address = ''] = where.split('?', 1)
  return address.startsWith('file:') ? process.getBuiltinModule('node:url').fileURLToPath(address) : address
}

/** Searches a module and its imports for a syntax error. For JavaScript, Node.js does not report its place. */
function syntaxFault(entry: string): string | undefined {
  const waiting = [entry]
  const seen = new Set(waiting)
  for (let file = waiting.shift(); file !== undefined && seen.size <= MODULES_MAX; file = waiting.shift()) {
    const read = readModule(file)
    if (read === undefined) continue
    if (typeof read === 'string') return read
    for (const imported of read) {
      if (seen.has(imported)) continue
      seen.add(imported)
      waiting.push(imported)
    }
  }
  return undefined
}

/** Returns the place of a syntax error in a module, or the files that the module imports by relative paths. */
function readModule(file: string): string | readonly string[] | undefined {
  const source = sourceOf(file)
  if (source === undefined) return undefined
  try {
    const { body } = parse(source, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true })
    return body.flatMap((node) => importedFile(node, file))
  } catch (error) {
    const { data } = AcornFault.safeParse(error)
    return data && `${file}:${data.loc.line}:${data.loc.column + 1}`
  }
}

/** Returns the text of a module as JavaScript, with the same lines and columns. */
function sourceOf(file: string): string | undefined {
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const { stripTypeScriptTypes } = process.getBuiltinModule('node:module')
  try {
    const text = readFileSync(file, 'utf8')
    if (!/\.m?ts$/.test(file)) return /\.m?js$/.test(file) ? text : undefined
    return stripTypeScriptTypes?.(text)
  } catch {
    return undefined
  }
}

function importedFile(node: AnyNode, file: string): readonly string[] {
  const specifier = 'source' in node && node.source?.type === 'Literal' ? node.source.value : undefined
  if (typeof specifier !== 'string' || !specifier.startsWith('.')) return []
  const { dirname, resolve } = process.getBuiltinModule('node:path')
  return [resolve(dirname(file), specifier)]
}

/** Returns the place of a method as `file:line`. If the text of the file does not show the method, returns only the file. */
export function placeOfMethod(source: string, className: string, method: string): string {
  const [outermost = ''] = className.split('.', 1)
  const name = outermost === 'Default' ? '[Dd]efault' : outermost.replaceAll('$', '\\$')
  const lines = linesOf(source)
  const begin = lines.findIndex((line) =>
    new RegExp(`\\bclass\\b.*\\b${name}\\b|\\b${name}\\b.*\\bclass\\b`).test(line),
  )
  const inside = new RegExp(`(?<![.\\w])${method.replaceAll('$', '\\$')}\\s*[(=]`)
  const at = lines.findIndex((line, i) => i >= begin && inside.test(line))
  const line = at === -1 ? begin : at
  return line === -1 ? source : `${source}:${line + 1}`
}

/** Returns whether the runtime stopped at a decorator, which it does not support, at the place of the fault. */
export function isDecorator(cause: unknown, place: string): boolean {
  const [, file = '', line = '', column = ''] = /^(.*?):(\d+)(?::(\d+))?$/.exec(place) ?? []
  const text = linesOf(file)[Number(line) - 1] ?? ''
  return cause instanceof SyntaxError && (text.trimStart().startsWith('@') || text[Number(column) - 1] === '@')
}

function linesOf(source: string): readonly string[] {
  try {
    return process.getBuiltinModule('node:fs').readFileSync(source, 'utf8').split('\n')
  } catch {
    return []
  }
}
