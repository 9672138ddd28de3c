import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/**
 * The environment of programs that a test file starts. With a shared compile cache, all but the first start in half the time.
 * Each file has its own cache, because the cache also contains the modules of the tests.
 */
export function programEnvironment() {
  const cache = mkdtempSync(join(tmpdir(), 'endpoints-cache-'))
  afterAll(() => rmSync(cache, { recursive: true }))
  return { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache }
}
