import type { MessagePort } from 'node:worker_threads'

type Edges = Map<string, Set<string>>

/** The imports of this process since the first call of `followImports`. */
export interface ImportGraph {
  /** Whether a reload of a controller also reloads the modules that it imports. */
  readonly reloads: boolean
  /** Returns the given files and the files that they import directly or indirectly. Omits packages and the framework. */
  readonly filesOf: (files: readonly string[]) => ReadonlySet<string>
}

interface Resolving {
  readonly specifier: string
  readonly parent: string | undefined
  /** The URL of the resolved module. */
  readonly url: string
}

let graph: ImportGraph | undefined
const listeners = new Set<() => void>()
let versions = 0

/** Returns a number that no module was loaded with. A module with a new `?endpoints=N` in its URL is loaded again. */
export function nextVersion(): number {
  versions += 1
  return versions
}

/**
 * Starts to follow imports. A module that is loaded with `?endpoints=N` passes this version on to the modules that it imports by
 * path. Bun has no hooks for imports, so in Bun the graph knows the loaded files but not which file imported them.
 * @param changed called when an import becomes known after its module was loaded
 */
export function followImports(changed: () => void): ImportGraph {
  listeners.add(changed)
  graph ??= hookImports() ?? { reloads: false, filesOf: loadedFiles }
  return graph
}

function hookImports(): ImportGraph | undefined {
  const { register, registerHooks } = process.getBuiltinModule('node:module')
  const edges: Edges = new Map()
  const own = new URL('..', import.meta.url).href
  if (typeof registerHooks === 'function') {
    registerHooks({
      resolve(specifier, context, next) {
        let resolved: ReturnType<typeof next>
        try {
          resolved = next(specifier, context)
        } catch (error) {
          addImport(edges, wanted(specifier, context.parentURL), own)
          throw error
        }
        const resolving = { specifier, parent: context.parentURL, url: resolved.url }
        addImport(edges, resolving, own)
        const isRequired = context.conditions.includes('require')
        return isRequired ? resolved : { ...resolved, url: versioned(resolving, own) }
      },
    })
  } else if (process.versions.bun === undefined && typeof register === 'function') {
    // Node.js before 22.15 runs hooks in a separate thread. Send the same functions to it as text.
    const { MessageChannel } = process.getBuiltinModule('node:worker_threads')
    const { port1, port2 } = new MessageChannel()
    port1.on('message', (resolving: Resolving) => {
      addImport(edges, resolving, own)
      for (const listener of listeners) listener()
    })
    port1.unref()
    const code = `${threadHooks}; const wanted = ${wanted}; const versioned = ${versioned}; const isOwnModule = ${isOwnModule}`
    const url = `data:text/javascript,${encodeURIComponent(code)}`
    register(url, { data: { port: port2 satisfies MessagePort, own }, transferList: [port2] })
  } else {
    return undefined
  }
  return { reloads: true, filesOf: (files) => reachableFiles(edges, files) }
}

const threadHooks = `
let port, own
export const initialize = (data) => { port = data.port; own = data.own }
export const resolve = async (specifier, context, next) => {
  const resolved = await next(specifier, context).catch((error) => {
    port.postMessage(wanted(specifier, context.parentURL))
    throw error
  })
  const resolving = { specifier, parent: context.parentURL, url: resolved.url }
  if (context.parentURL !== undefined) port.postMessage(resolving)
  return { ...resolved, url: versioned(resolving, own) }
}`

/** Describes an import that cannot be resolved. Its file may not exist yet, and the program watches for it. */
function wanted(specifier: string, parent: string | undefined): Resolving {
  const isByPath = /^(?:[./]|file:)/.test(specifier)
  return { specifier, parent, url: isByPath ? (URL.parse(specifier, parent)?.href ?? '') : '' }
}

/** Returns the URL of an import. If the import is reloaded with the importing module, adds that module's version. */
function versioned({ specifier, parent, url }: Resolving, own: string): string {
  const version = /\?endpoints=\d+$/.exec(parent ?? '')?.[0]
  const isByPath = /^(?:[./#]|file:)/.test(specifier)
  return version !== undefined && isByPath && isOwnModule(url, own) && !url.includes('?') ? url + version : url
}

/** Whether a file belongs to the application. A second copy of the framework would have another `Controller` class. */
function isOwnModule(url: string, own: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(own)
}

function addImport(edges: Edges, { parent, url }: Resolving, own: string): void {
  if (parent === undefined || !isOwnModule(parent, own) || !isOwnModule(url, own)) return
  const from = toFile(parent)
  const imports = edges.get(from) ?? new Set()
  edges.set(from, imports.add(toFile(url)))
}

function toFile(url: string): string {
  return process.getBuiltinModule('node:url').fileURLToPath(url.split('?', 1)[0] ?? url)
}

function reachableFiles(edges: Edges, files: readonly string[]): ReadonlySet<string> {
  const found = new Set(files)
  // The loop also visits files that it adds to the set.
  for (const file of found) for (const imported of edges.get(file) ?? []) found.add(imported)
  return found
}

/** The loaded files of the program, from the cache of `require`. In Bun it holds ES modules too. */
function loadedFiles(files: readonly string[]): ReadonlySet<string> {
  return new Set([...files, ...Object.keys(requireCache()).filter((file) => !file.includes('/node_modules/'))])
}

/** Removes CommonJS files from the cache of `require`, so that they are loaded again. */
export function forget(files: ReadonlySet<string>): void {
  const cache = requireCache()
  for (const file of files) delete cache[file]
}

function requireCache(): NodeJS.Dict<unknown> {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url).cache
}
