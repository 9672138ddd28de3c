import type { ApplicationOptions, ModuleMap } from '../config/options.ts'
import { prefixesFromEnvironment } from '../config/settings.ts'
import type { LoadedModule } from './build-table.ts'
import { isDecorator, placeOfFault } from './fault-place.ts'
import { findModules, hasPrefix, locatePrefix, type ModuleFile } from './find-modules.ts'
import { urlName } from './url-name.ts'

type Sources = Pick<ApplicationOptions, 'controllerPrefix' | 'dir' | 'modules'>

/**
 * Imports every module of an application.
 * @param version of a reload; 0 for the first load
 * @throws Error that names a file that cannot be imported, or when there is nothing to load
 */
export async function loadModules(sources: Sources, version = 0): Promise<readonly LoadedModule[]> {
  const fromMap = await Promise.all(Object.entries(sources.modules ?? {}).map(loadEntry))
  refuseTwins(fromMap)
  const files = prefixesOf(sources).flatMap(findModules)
  const fromFiles = await Promise.all(files.map((file) => loadFile(file, version)))
  return [...fromMap, ...fromFiles]
}

/**
 * The folders and files of the controllers.
 * @throws Error when no prefix is given and no folder of controllers is found
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

/** A module of controllers, or a module that it imports, failed. The message names the file and the line of the fault. */
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
