import type { MessagePort } from 'node:worker_threads'

/** Files by the file that imports them; both as paths. */
type Edges = Map<string, Set<string>>

/** What is known of the imports of this process, since it was first asked for. */
export interface ImportGraph {
  /** Whether modules that a controller imports are loaded anew with it. */
  readonly reloads: boolean
  /** These files, and those that they import, directly or not; packages and the framework are left out. */
  readonly filesOf: (files: readonly string[]) => ReadonlySet<string>
}

/** An import, as hooks of Node.js see it. */
interface Resolving {
  readonly specifier: string
  readonly parent: string | undefined
  /** What it leads to. */
  readonly url: string
}

let graph: ImportGraph | undefined
const listeners = new Set<() => void>()
let versions = 0

/** A number that no module was loaded with yet: `?endpoints=N` makes a module a new one. */
export function nextVersion(): number {
  versions += 1
  return versions
}

/**
 * Begins to follow imports, and lets what a module under `?endpoints=N` imports by a path be loaded anew with it. Where
 * the runtime has no hooks for that (Bun) the graph knows what was loaded, but not by whom.
 * @param changed called when an import becomes known after the module that it is in was loaded
 */
export function followImports(changed: () => void): ImportGraph {
  listeners.add(changed)
  graph ??= hooked() ?? { reloads: false, filesOf: loadedFiles }
  return graph
}

function hooked(): ImportGraph | undefined {
  const { register, registerHooks } = process.getBuiltinModule('node:module')
  const edges: Edges = new Map()
  const own = new URL('..', import.meta.url).href
  if (typeof registerHooks === 'function') {
    registerHooks({
      resolve(specifier, context, next) {
        const resolved = next(specifier, context)
        const resolving = { specifier, parent: context.parentURL, url: resolved.url }
        note(edges, resolving, own)
        const isRequired = context.conditions.includes('require')
        return isRequired ? resolved : { ...resolved, url: versioned(resolving, own) }
      },
    })
  } else if (process.versions.bun === undefined && typeof register === 'function') {
    // Node.js before 22.15 has hooks in a thread of their own. They are the same functions, as text.
    const { MessageChannel } = process.getBuiltinModule('node:worker_threads')
    const { port1, port2 } = new MessageChannel()
    port1.on('message', (resolving: Resolving) => {
      note(edges, resolving, own)
      for (const listener of listeners) listener()
    })
    port1.unref()
    const code = `${threadHooks}; const versioned = ${versioned}; const isOwnModule = ${isOwnModule}`
    const url = `data:text/javascript,${encodeURIComponent(code)}`
    register(url, { data: { port: port2 satisfies MessagePort, own }, transferList: [port2] })
  } else {
    return undefined
  }
  return { reloads: true, filesOf: (files) => reachable(edges, files) }
}

const threadHooks = `
let port, own
export const initialize = (data) => { port = data.port; own = data.own }
export const resolve = async (specifier, context, next) => {
  const resolved = await next(specifier, context)
  const resolving = { specifier, parent: context.parentURL, url: resolved.url }
  if (context.parentURL !== undefined) port.postMessage(resolving)
  return { ...resolved, url: versioned(resolving, own) }
}`

/** The URL with the version of the module that imports it, where it is loaded anew with that. */
function versioned({ specifier, parent, url }: Resolving, own: string): string {
  const version = /\?endpoints=\d+$/.exec(parent ?? '')?.[0]
  const isByPath = /^(?:[./#]|file:)/.test(specifier)
  return version !== undefined && isByPath && isOwnModule(url, own) && !url.includes('?') ? url + version : url
}

/** A file of the application: no package, and no part of the framework, of which two would not know each other. */
function isOwnModule(url: string, own: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(own)
}

function note(edges: Edges, { parent, url }: Resolving, own: string): void {
  if (parent === undefined || !isOwnModule(parent, own) || !isOwnModule(url, own)) return
  const from = toFile(parent)
  const imports = edges.get(from) ?? new Set()
  edges.set(from, imports.add(toFile(url)))
}

function toFile(url: string): string {
  return process.getBuiltinModule('node:url').fileURLToPath(url.split('?', 1)[0] ?? url)
}

function reachable(edges: Edges, files: readonly string[]): ReadonlySet<string> {
  const found = new Set(files)
  // A set also visits what is added on the way.
  for (const file of found) for (const imported of edges.get(file) ?? []) found.add(imported)
  return found
}

/** The files of this program, as the cache of `require` knows them: in Bun modules too. */
function loadedFiles(files: readonly string[]): ReadonlySet<string> {
  return new Set([...files, ...Object.keys(requireCache()).filter((file) => !file.includes('/node_modules/'))])
}

/** Lets files be required anew, where they are CommonJS. */
export function forget(files: ReadonlySet<string>): void {
  const cache = requireCache()
  for (const file of files) delete cache[file]
}

function requireCache(): NodeJS.Dict<unknown> {
  return process.getBuiltinModule('node:module').createRequire(import.meta.url).cache
}
