import { urlName } from './url-name.ts'

/** A file of controllers below a prefix. */
export interface ModuleFile {
  readonly path: readonly string[]
  readonly file: string
}

const extensions = ['ts', 'mts', 'js', 'mjs']
const moduleFile = new RegExp(`^(.+)\\.(?:${extensions.join('|')})$`)
const skipped = /^[._]|^node_modules$|\.d\.m?ts$|\.(?:test|spec)\./

/**
 * Lists the modules below a prefix, in the order of their names.
 * @throws Error for invalid names, for two files with one URL, and for links that lead out of the prefix
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
 * @throws Error when there is none, when there are two, or when it is outside of `dir`
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

/** Whether a folder has a module or a folder that answers URLs with this prefix. */
export function hasPrefix(prefix: string, dir: string): boolean {
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
  /** Real paths of the folders above this one. */
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
