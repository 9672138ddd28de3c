import type { FSWatcher } from 'node:fs'
import type { ApplicationOptions } from '../config/options.ts'
import { prefixesOf } from './load-modules.ts'

const SETTLE_MS = 50

/**
 * Calls `changed` when something below the prefixes changes: once for a burst, and not again before it has ended. Returns
 * what ends the watching.
 */
export function watchPrefixes(
  options: Pick<ApplicationOptions, 'controllerPrefix' | 'dir' | 'modules'>,
  changed: () => Promise<void>,
): () => void {
  let timer: NodeJS.Timeout | undefined
  let running = Promise.resolve()
  const notice = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      running = running.then(changed)
    }, SETTLE_MS)
  }
  const watchers = prefixesOf(options).map((prefix) => watchPrefix(prefix, notice))
  return () => {
    clearTimeout(timer)
    for (const watcher of watchers) watcher.close()
  }
}

/**
 * A folder with all that is in it; of a file, the modules beside it. The file itself would be lost at the first save of an
 * editor that puts another in its place.
 */
function watchPrefix(prefix: string, notice: () => void): FSWatcher {
  const { statSync, watch } = process.getBuiltinModule('node:fs')
  if (statSync(prefix).isDirectory()) return watch(prefix, { recursive: true }, notice)
  const { dirname } = process.getBuiltinModule('node:path')
  return watch(dirname(prefix), (_event, name) => {
    if (name === null || /\.m?[jt]s$/.test(name)) notice()
  })
}

/**
 * Lets what a module under `?endpoints=N` imports by a relative path be imported anew with it, where Node.js has hooks for
 * that (22.15 and newer). Elsewhere the controllers are loaded anew, but not what they import.
 */
export function reloadImports(): void {
  process.getBuiltinModule('node:module').registerHooks?.({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context)
      const version = /\?endpoints=\d+$/.exec(context.parentURL ?? '')?.[0]
      if (version === undefined || !specifier.startsWith('.') || resolved.url.includes('?')) return resolved
      return { ...resolved, url: `${resolved.url}${version}` }
    },
  })
}
