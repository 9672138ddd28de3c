import type { ApplicationOptions, ModuleMap } from '../config/options.ts'
import { prefixesFromEnvironment } from '../config/settings.ts'
import type { LoadedModule } from './build-table.ts'
import { isDecorator, placeOfFault } from './fault-place.ts'
import { urlName } from './url-name.ts'

type Sources = Pick<ApplicationOptions, 'controllerPrefix' | 'dir' | 'modules'>

/**
 * Imports every module of an application.
 * @param version the version of a reload; 0 for the first load
 * @throws Error that names a file that cannot be imported, or if there is nothing to load
 */
export async function loadModules(sources: Sources, version = 0): Promise<readonly LoadedModule[]> {
  const fromMap = await Promise.all(Object.entries(sources.modules ?? {}).map(loadEntry))
  refuseTwins(fromMap)
  const files = prefixesOf(sources).flatMap(findModules)
  const fromFiles = await Promise.all(files.map((file) => loadFile(file, version)))
  return [...fromMap, ...fromFiles]
}

/**
 * Returns the folders and files of the controllers.
 * @throws Error if no prefix is given and no folder of controllers is found
 */
export function prefixesOf({ controllerPrefix = [], dir, modules }: Sources): readonly string[] {
  const given = [controllerPrefix].flat()
  if (given.length === 0 && modules !== undefined) return []
  if (!hasFiles()) {
    throw new Error('controllers are found by prefix on Node.js 20.16 and newer; elsewhere pass { modules }')
  }
  const { delimiter, resolve } = process.getBuiltinModule('node:path')
  const base = resolve(dir ?? '.')
  const prefixes = given.length > 0 ? given : prefixesFromEnvironment(delimiter)
  if (prefixes.length > 0) return prefixes.map((prefix) => locatePrefix(prefix, base))
  if (hasPrefix('controllers', base)) return [locatePrefix('controllers', base)]
  throw new Error(`there are no controllers: name a prefix, set ENDPOINTS_PREFIX, or make ${base}/controllers`)
}

function hasFiles(): boolean {
  return typeof process !== 'undefined' && process.getBuiltinModule !== undefined
}

async function loadFile({ path, file }: ModuleFile, version: number): Promise<LoadedModule> {
  const { href } = process.getBuiltinModule('node:url').pathToFileURL(file)
  const url = version === 0 ? href : `${href}?endpoints=${version}`
  return { path, source: file, exports: await importModule(file, () => import(url)) }
}

async function loadEntry([key, value]: [string, ModuleMap[string]]): Promise<LoadedModule> {
  const parts = key
    .replace(/^\.?\//, '')
    .replace(/\.[cm]?[jt]s$/, '')
    .split('/')
  const bad = parts.find((part) => !/^[A-Za-z0-9_-]+$/.test(part))
  if (bad !== undefined) throw new Error(`module ${key}: a name may hold letters, digits, "_" and "-"`)
  const path = (parts.at(-1) === 'index' ? parts.slice(0, -1) : parts).map(urlName)
  const exports = typeof value === 'function' ? await importModule(key, async () => value()) : value
  return { path, source: key, exports: { ...exports } }
}

async function importModule(source: string, load: () => Promise<object>): Promise<Readonly<Record<string, unknown>>> {
  try {
    return { ...(await load()) }
  } catch (cause) {
    throw new ImportError(source, cause)
  }
}

/** A module of controllers or one of its imports cannot be loaded. The message names the file and line of the fault. */
export class ImportError extends Error {
  constructor(source: string, cause: unknown) {
    const place = hasFiles() ? placeOfFault(cause, source) : undefined
    const reason = place !== undefined && isDecorator(cause, place) ? DECORATOR : reasonOf(cause)
    super(`${source} cannot be imported: ${reason}${place === undefined ? '' : ` (${place})`}`, { cause })
    this.name = 'ImportError'
  }
}

const DECORATOR = 'it has a decorator, and decorators do not run unbuilt: compile the module, or do without'

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  const isTypeScript = 'code' in cause && cause.code === 'ERR_UNKNOWN_FILE_EXTENSION'
  return isTypeScript ? 'TypeScript needs Node.js 22.18 or newer' : cause.message
}

function refuseTwins(modules: readonly LoadedModule[]): void {
  const sources = new Map<string, string>()
  for (const { path, source } of modules) {
    const url = `/${path.join('/')}`
    const twin = sources.get(url)
    if (twin !== undefined) throw new Error(`${twin} and ${source} are both ${url}`)
    sources.set(url, source)
  }
}

export interface ModuleFile {
  readonly path: readonly string[]
  readonly file: string
}

const extensions = ['ts', 'mts', 'js', 'mjs']
const moduleFile = new RegExp(`^(.+)\\.(?:${extensions.join('|')})$`)
const skipped = /^[._]|^node_modules$|\.d\.m?ts$|\.(?:test|spec)\./

/**
 * Lists the modules below a prefix, in the order of their names.
 * @throws Error for an invalid name, for two files with the same URL, and for a link that leads out of the prefix
 */
export function findModules(prefix: string): readonly ModuleFile[] {
  const { statSync } = process.getBuiltinModule('node:fs')
  if (!statSync(prefix).isDirectory()) return [{ path: [], file: prefix }]
  const found = new Map<string, ModuleFile>()
  const add = (module: ModuleFile): void => {
    const url = `/${module.path.join('/')}`
    const twin = found.get(url)
    if (twin !== undefined) throw new Error(`${twin.file} and ${module.file} are both ${url}`)
    found.set(url, module)
  }
  walk(prefix, [], { root: realPath(prefix), above: [], add })
  return [...found.values()]
}

/**
 * Finds the folder or file of a prefix (reference: Prefixes).
 * @throws Error if there is none, if there are two, or if it is outside of `dir`
 */
export function locatePrefix(prefix: string | URL, dir: string): string {
  const { isAbsolute, join } = process.getBuiltinModule('node:path')
  const { fileURLToPath } = process.getBuiltinModule('node:url')
  const given = prefix instanceof URL ? fileURLToPath(prefix) : prefix
  const spellings = isAbsolute(given) ? [given] : [given, given.replace(/^\.\//, '').replaceAll('.', '/')]
  for (const spelling of isAbsolute(given) ? spellings : spellings.map((each) => join(dir, each))) {
    const found = existing(spelling)
    if (found.length > 1) throw new Error(`the prefix ${given} is ambiguous: ${found.join(' and ')}`)
    if (found[0] === undefined) continue
    if (!isAbsolute(given) && !isInside(realPath(dir), realPath(found[0]))) {
      throw new Error(`the prefix ${given} leads out of ${dir}`)
    }
    return found[0]
  }
  throw new Error(`there is no folder or module ${given} in ${dir}`)
}

/** Returns whether a folder contains a module or folder for this prefix. */
function hasPrefix(prefix: string, dir: string): boolean {
  return existing(process.getBuiltinModule('node:path').join(dir, prefix)).length > 0
}

function existing(path: string): readonly string[] {
  const { statSync } = process.getBuiltinModule('node:fs')
  return [path, ...extensions.map((extension) => `${path}.${extension}`)].filter((candidate) => {
    const stats = statSync(candidate, { throwIfNoEntry: false })
    return stats?.isDirectory() || (stats?.isFile() && moduleFile.test(candidate))
  })
}

interface Walk {
  readonly root: string
  /** The real paths of the folders above this folder. They show whether a link leads to a folder that contains it. */
  readonly above: readonly string[]
  readonly add: (module: ModuleFile) => void
}

function walk(folder: string, path: readonly string[], { root, above, add }: Walk): void {
  const { readdirSync, statSync } = process.getBuiltinModule('node:fs')
  const { join } = process.getBuiltinModule('node:path')
  const real = realPath(folder)
  if (above.includes(real)) throw new Error(`${folder} is a link to a folder that it is in`)
  for (const name of readdirSync(folder).sort()) {
    const file = join(folder, name)
    if (skipped.test(name)) continue
    const isFolder = statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false
    const stem = isFolder ? name : moduleFile.exec(name)?.[1]
    if (stem === undefined) continue
    if (!/^[A-Za-z0-9_-]+$/.test(stem)) throw new Error(`${file}: a name may hold letters, digits, "_" and "-"`)
    if (!isInside(root, realPath(file))) throw new Error(`${file} is a link that leads out of ${root}`)
    if (isFolder) walk(file, [...path, urlName(stem)], { root, above: [...above, real], add })
    else add({ path: stem === 'index' ? path : [...path, urlName(stem)], file })
  }
}

function realPath(path: string): string {
  return process.getBuiltinModule('node:fs').realpathSync(path)
}

function isInside(folder: string, path: string): boolean {
  const { relative, isAbsolute, sep } = process.getBuiltinModule('node:path')
  const way = relative(folder, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}
