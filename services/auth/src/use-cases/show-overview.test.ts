import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openTestApp, type TestApp } from '../../test/auth-app.ts'
import type { AuthDeps } from '../deps.ts'
import { showOverview } from './show-overview.ts'

let test: TestApp
beforeAll(async () => {
  test = await openTestApp()
})
afterAll(() => test.close())

it('tells that the database does not answer, without counts', async () => {
  const pool = new pg.Pool({ host: '127.0.0.1', port: 1 })
  const away: AuthDeps['db'] = new Kysely({ dialect: new PostgresDialect({ pool }) })
  expect(await showOverview({ ...test.deps, db: away })).toEqual({
    counts: undefined,
    health: { database: 'does not answer', mail: 'does not answer', queue: 'does not work on jobs' },
  })
  await away.destroy()
})
