import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** The first run leaves some 9,000 modules, and each further one 2,000. */
const MODULES_MAX = 20_000

/**
 * vitest's global set-up: empties the folder in which Node.js keeps compiled modules (`NODE_COMPILE_CACHE`) when they are many.
 * vitest gives a test file another URL in each run, so the folder would grow with every run.
 */
export async function setup(): Promise<void> {
  if (process.env.NODE_COMPILE_CACHE) await emptyFullCaches(process.env.NODE_COMPILE_CACHE, MODULES_MAX)
}

/** Removes the cache of each version of Node.js that holds more than `modulesMax` modules. */
export async function emptyFullCaches(folder: string, modulesMax: number): Promise<void> {
  const versions = await readdir(folder).catch(() => [])
  for (const version of versions) {
    const modules = await readdir(join(folder, version))
    if (modules.length > modulesMax) await rm(join(folder, version), { recursive: true, force: true })
  }
}
