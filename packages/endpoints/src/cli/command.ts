import { parseArgs } from 'node:util'
import { closestMatch } from 'leven'
import { type Address, parseAddress } from './address.ts'

export type Command =
  | { readonly run: 'help' | 'version' }
  | { readonly run: 'build-map'; readonly folder: string; readonly file: string }
  | ({ readonly run: 'serve' | 'routes' } & ServeOptions)
  | ({ readonly run: 'openapi'; readonly file: string | undefined } & ServeOptions)

/** The controllers or the application that `endpoints` serves, and its address. */
export interface ServeOptions {
  readonly prefixes: readonly string[]
  readonly dir: string
  /** `module:export`, as an alternative to prefixes. */
  readonly app: string | undefined
  readonly form: 'node' | 'fetch'
  readonly address: Address
  readonly watch: boolean
  readonly quiet: boolean
}

export class UsageError extends Error {}

export const usage = `Usage: endpoints [options]
       endpoints build-map FOLDER FILE

Serves the controllers of a folder or module: a URL names a module, a class and a method.

  -P, --prefix PREFIX      folder or module of the controllers; may be repeated (default: controllers)
  -H, --host HOST:PORT     where to listen; port 0 for a free one (default: 127.0.0.1:8000)
  -D, --dir FOLDER         the folder of relative prefixes (default: the working directory)
  -c, --config FILE        read variables from this file, such as .env; those of the environment win
      --app MODULE:EXPORT  an application of your own, in place of prefixes (export: default)
      --interface FORM     node, or fetch to serve through the web standard's form
      --watch              reload the controllers when they change
      --quiet              print errors only, and no line for each answer
      --routes             print every URL and exit
      --openapi [FILE]     print or write the OpenAPI document and exit
  -v, --version            print the version and exit
      --help               print this and exit

build-map writes a module that imports every controller of FOLDER, for runtimes without files.

Environment: ENDPOINTS_PREFIX, ENDPOINTS_PREFIX_1, …, ENDPOINTS_HOST; options win.`

/**
 * Parses a command line.
 * @param readHost reads the file of `--config` into the environment and returns the host of the environment
 * @throws UsageError for invalid arguments, and the errors of `readHost`
 */
export function parseCommand(
  args: readonly string[],
  readHost: (config: string | undefined) => string | undefined,
): Command {
  const { values, positionals } = parse(args)
  if (values.help) return { run: 'help' }
  if (values.version) return { run: 'version' }
  const [name, folder, file, ...more] = positionals
  if (name === 'build-map' && folder !== undefined && file !== undefined && more.length === 0) {
    return { run: 'build-map', folder, file }
  }
  if (name === 'build-map') throw new UsageError('build-map takes a folder and a file; see endpoints --help')
  if (name !== undefined) throw new UsageError(`unknown command '${name}'; ${suggest(name, ['build-map'])}`)
  const prefixes = [...(values.prefix ?? []), ...(values['controller-prefix'] ?? [])]
  if (values.app !== undefined && prefixes.length > 0) throw new UsageError('--app and --prefix exclude each other')
  if (values.app !== undefined && values.watch) throw new UsageError('--watch works with --prefix only')
  const form = values.interface ?? 'node'
  if (form !== 'node' && form !== 'fetch') throw new UsageError(`--interface is node or fetch, not ${form}`)
  const host = readHost(values.config)
  const address = parseAddress(values.host ?? host ?? '')
  if (address === undefined) throw new UsageError(`${values.host ?? host} is not host:port`)
  const { dir = '.', app, watch = false, quiet = false } = values
  const options = { prefixes, dir, app, form, address, watch, quiet } as const
  if (values.openapi !== undefined) return { run: 'openapi', file: values.openapi || undefined, ...options }
  return { run: values.routes ? 'routes' : 'serve', ...options }
}

/** The options of the program in the format of `parseArgs`. */
const OPTIONS = {
  prefix: { type: 'string', short: 'P', multiple: true },
  'controller-prefix': { type: 'string', multiple: true },
  host: { type: 'string', short: 'H' },
  dir: { type: 'string', short: 'D' },
  config: { type: 'string', short: 'c' },
  app: { type: 'string' },
  interface: { type: 'string' },
  watch: { type: 'boolean' },
  quiet: { type: 'boolean' },
  routes: { type: 'boolean' },
  openapi: { type: 'string' },
  version: { type: 'boolean', short: 'v' },
  help: { type: 'boolean' },
} as const

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      // `--openapi` is the only option whose value may be omitted.
      args: args.map((arg, i) => (arg === '--openapi' && /^$|^-/.test(args[i + 1] ?? '') ? '--openapi=' : arg)),
      allowPositionals: true,
      options: OPTIONS,
    })
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause)
    const [, unknown] = /^Unknown option '(--?[^']+)'/.exec(text) ?? []
    if (unknown === undefined) throw new UsageError(text, { cause })
    const known = Object.keys(OPTIONS).map((name) => `--${name}`)
    throw new UsageError(`unknown option '${unknown}'; ${suggest(unknown, known)}`, { cause })
  }
}

/** Returns a hint: the known word that is most similar to a misspelled word, or where to look. */
function suggest(word: string, known: readonly string[]): string {
  const meant = closestMatch(word, known, { maxDistance: Math.floor(word.length / 3) })
  return meant === undefined ? 'see endpoints --help' : `did you mean ${meant}?`
}
