import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, describe, expect, it } from 'vitest'
import { openTestApp } from '../../test/auth-app.ts'
import { runAuth } from '../../test/run-auth.ts'

const { deps, close } = await openTestApp()
const folder = mkdtempSync(join(tmpdir(), 'import-'))
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await close()
})

const LINES = 6_000
/** Each run starts a new process, which takes time. */
const TIMEOUT_MS = 60_000

/** Returns the number of users, and of users without an identity. */
async function countUsers() {
  const { rows } = await sql<{ users: number; bare: number }>`
    SELECT count(*)::int AS users, count(*) FILTER (WHERE i.id IS NULL)::int AS bare
    FROM ${sql.table('users')} u LEFT JOIN ${sql.table('identities')} i ON i.user_id = u.id`.execute(deps.db)
  return rows[0]
}

describe('auth users import', () => {
  it(
    'continues where it stopped after kill -9',
    async () => {
      const file = join(folder, 'users.ndjson')
      writeFileSync(file, Array.from({ length: LINES }, (_, i) => `{"email":"user${i}@example.com"}\n`).join(''))
      const start = () => runAuth(['users', 'import', file], deps.config.database.url)
      for (const [run, stored] of [500, 2_000].entries()) {
        const process = start()
        await process.waitForReport(new RegExp(`line ${stored}: `))
        process.kill()
        expect(await process.exited).toBe('SIGKILL')
        const { users = 0, bare } = (await countUsers()) ?? {}
        expect([run, users % 500, bare]).toEqual([run, 0, 0])
        expect(users).toBeGreaterThanOrEqual(stored)
        expect(users).toBeLessThan(LINES)
      }
      const last = start()
      expect(await last.exited).toBe(0)
      const [, added, present] = /^(\d+) added, (\d+) there already, 0 refused\n$/.exec(last.stdout()) ?? []
      expect(Number(added) + Number(present)).toBe(LINES)
      expect(Number(present)).toBeGreaterThanOrEqual(2_000)
      expect(await countUsers()).toEqual({ users: LINES, bare: 0 })
    },
    TIMEOUT_MS,
  )

  it(
    'exits with 1 when a line is refused and with 2 for wrong arguments',
    async () => {
      const file = join(folder, 'bad.ndjson')
      writeFileSync(file, '{"email":"nobody"}\n')
      const bad = runAuth(['users', 'import', file], deps.config.database.url)
      expect(await bad.exited).toBe(1)
      await bad.waitForReport(/^line 1: email: Unable to validate .*\n1 lines were refused\n$/)
      expect(await runAuth(['users', 'move'], deps.config.database.url).exited).toBe(2)
    },
    TIMEOUT_MS,
  )
})
