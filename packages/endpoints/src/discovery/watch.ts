import type { FSWatcher } from 'node:fs'
import type { ApplicationOptions } from '../config/options.ts'
import { followImports, forget, type ImportGraph } from './import-graph.ts'
import { findModules, prefixesOf } from './load-modules.ts'

const SETTLE_MS = 50

export interface WatchOptions {
  readonly sources: Pick<ApplicationOptions, 'controllerPrefix' | 'dir' | 'modules'>
  /** Reloads the controllers. It never rejects. */
  readonly reload: () => Promise<void>
  readonly warn: (message: string) => void
}

/**
 * Calls `reload` after a change of a controller or of a file that a controller imports. Changes within 50 ms cause only one
 * reload. Returns a function that stops the watch.
 *
 * Watches each folder separately. A watch of a single file ends when an editor replaces the file. On Linux, a recursive watch of
 * a tree loses files in the same way.
 */
export function watchModules({ sources, reload, warn }: WatchOptions): () => void {
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const changes = new Set<string>()
  const folders = new FolderWatch((file) => {
    changes.add(file)
    // Do not restart the timer after a further change. Otherwise constant writes would delay the reload indefinitely.
    if (!ended) timer ??= setTimeout(reloadChanged, SETTLE_MS)
  }, warn)
  let known: Found = { prefixes: [], controllers: [] }
  const refresh = (): ReadonlySet<string> => {
    known = findSources(sources, known)
    const watched = watchedFolders(known, graph, sources.dir)
    if (!ended) folders.watch(watched.folders)
    return watched.files
  }
  const graph = followImports(() => refresh())
  const reloadChanged = (): void => {
    timer = undefined
    const files = attempt(refresh) ?? new Set()
    const lost = graph.reloads ? [] : [...changes].filter((file) => files.has(file) && !isController(file, sources))
    changes.clear()
    for (const file of lost) warn(`${file} has changed: this runtime loads it again only after a restart`)
    forget(files)
    // Do not wait for the reload. If it hangs, a later reload may still succeed.
    void reload().then(() => attempt(refresh))
  }
  refresh()
  return () => {
    ended = true
    clearTimeout(timer)
    folders.watch(new Map())
  }
}

function isController(file: string, sources: WatchOptions['sources']): boolean {
  const controllers = attempt(() => prefixesOf(sources).flatMap(findModules)) ?? []
  return controllers.some((each) => each.file === file)
}

/** Returns whether a change of this name in a folder is relevant. */
type Matters = (name: string) => boolean

interface Watched {
  readonly folders: ReadonlyMap<string, readonly Matters[]>
  /** The controllers and the files that they import. */
  readonly files: ReadonlySet<string>
}

interface Found {
  readonly prefixes: readonly string[]
  readonly controllers: readonly string[]
}

/**
 * Finds prefixes and controllers, and keeps those that were known before. A folder that is moved away temporarily cannot be
 * found. If it were dropped, nothing would watch for its return.
 */
function findSources(sources: WatchOptions['sources'], before: Found): Found {
  const prefixes = attempt(() => prefixesOf(sources)) ?? before.prefixes
  const found = prefixes.flatMap((prefix) => attempt(() => findModules(prefix)) ?? []).map(({ file }) => file)
  return { prefixes, controllers: [...new Set([...before.controllers, ...found])] }
}

/**
 * Returns the folders of prefixes and imported files, with the names that matter in each.
 * @param dir by default the working directory; the folders between it and a file are watched too, as they may be replaced
 */
function watchedFolders({ prefixes, controllers }: Found, graph: ImportGraph, dir = '.'): Watched {
  const { existsSync, statSync, readdirSync } = process.getBuiltinModule('node:fs')
  const { basename, dirname, join, resolve, sep } = process.getBuiltinModule('node:path')
  const root = resolve(dir)
  const folders = new Map<string, Matters[]>()
  const add = (folder: string, matters: Matters): void =>
    void folders.set(folder, [...(folders.get(folder) ?? []), matters])
  const addTree = (folder: string): void => {
    add(folder, (name) => /\.m?[jt]s$|^[^.]+$/.test(name))
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name)) addTree(join(folder, entry.name))
    }
  }
  // If a folder is missing, watch its parent folder.
  const addPath = (path: string): void => {
    const parent = dirname(path)
    const isFirst = !folders.has(parent)
    add(parent, (name) => name === basename(path))
    const isInside = parent.startsWith(root + sep)
    if (parent !== path && (!existsSync(parent) || (isInside && isFirst))) addPath(parent)
  }
  const files = graph.filesOf(controllers)
  for (const path of [...prefixes, ...files]) addPath(path)
  for (const prefix of prefixes) {
    attempt(() => {
      if (statSync(prefix).isDirectory()) addTree(prefix)
    })
  }
  return { folders, files }
}

/** Calls `look` and ignores errors, because a file may be missing while it is being changed. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}

interface WatchedFolder {
  readonly watcher: FSWatcher
  /** Identifies the folder, because another folder of the same name may replace it. */
  readonly identity: string | undefined
  matters: readonly Matters[]
}

function identityOf(folder: string): string | undefined {
  const { statSync } = process.getBuiltinModule('node:fs')
  return attempt(() => {
    const { ino, birthtimeMs } = statSync(folder)
    return `${ino} ${birthtimeMs}`
  })
}

/** Watches folders. A failed watch never ends the process. */
class FolderWatch {
  readonly #changed: (file: string) => void
  readonly #warn: (message: string) => void
  readonly #folders = new Map<string, WatchedFolder>()
  #hasWarned = false

  constructor(changed: (file: string) => void, warn: (message: string) => void) {
    this.#changed = changed
    this.#warn = warn
  }

  /** Watches exactly these folders. */
  watch(wanted: ReadonlyMap<string, readonly Matters[]>): void {
    for (const [folder, { watcher, identity }] of this.#folders) {
      if (wanted.has(folder) && identityOf(folder) === identity) continue
      watcher.close()
      this.#folders.delete(folder)
    }
    for (const [folder, matters] of wanted) {
      const known = this.#folders.get(folder)
      if (known === undefined) this.#add(folder, matters)
      else known.matters = matters
    }
  }

  /** Stops the watch of a folder, and reports a change. The reload after it watches the folder again. */
  #drop(folder: string, watcher: FSWatcher): void {
    watcher.close()
    if (this.#folders.get(folder)?.watcher === watcher) this.#folders.delete(folder)
    this.#changed(folder)
  }

  #add(folder: string, matters: readonly Matters[]): void {
    const { watch } = process.getBuiltinModule('node:fs')
    const { basename, join } = process.getBuiltinModule('node:path')
    try {
      const identity = identityOf(folder)
      const watcher = watch(folder, (event, name) => {
        const { matters: now = [] } = this.#folders.get(folder) ?? {}
        // The watch of a removed folder reports the folder's own name. Another folder may replace the removed one.
        if (event === 'rename' && name === basename(folder)) this.#drop(folder, watcher)
        else if (name === null || now.some((matter) => matter(name))) this.#changed(join(folder, name ?? ''))
      })
      // Without a listener, an error would end the process.
      watcher.on('error', () => this.#drop(folder, watcher))
      this.#folders.set(folder, { watcher, identity, matters })
    } catch (error) {
      const isGone = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      if (!isGone && !this.#hasWarned) {
        this.#hasWarned = true
        this.#warn(`changes in ${folder} are not noticed: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
}
