import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'

/**
 * What the programs of a test file are given: each starts in half the time when it need not compile what an earlier one has
 * compiled. The cache goes with the file, since it keeps the modules of the tests too.
 */
export function programEnvironment() {
  const cache = mkdtempSync(join(tmpdir(), 'endpoints-cache-'))
  afterAll(() => rmSync(cache, { recursive: true }))
  return { PATH: process.env.PATH, NODE_COMPILE_CACHE: cache }
}
