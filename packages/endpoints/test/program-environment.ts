import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/**
 * Returns the environment of the programs that a test file starts. They share a compile cache, so all but the first start in half
 * the time. Each test file has a separate cache, because the cache also contains the modules of the tests.
 */
export function programEnvironment() {
  const cache = mkdtempSync(join(tmpdir(), 'endpoints-cache-'))
  afterAll(() => rmSync(cache, { recursive: true }))
  return { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache }
}
