import { openStartupPooler } from '@trestle/testing/cut-wire.ts'
import { prepared } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { expect, it, onTestFinished } from 'vitest'
import { openTestDatabase } from '../../test/payments-app.ts'
import { loadPaymentsConfig } from '../config.ts'
import { openPaymentsDatabase } from '../open-database.ts'
import { openOperatorDeps } from './operator-deps.ts'

it('limits statements of operators to an hour and those of requests to seconds, and waits for locks equally long', async () => {
  const test = await openTestDatabase()
  const env = {
    PAYMENTS_DATABASE_URL: test.url,
    PAYMENTS_DB_PREPARED: String(prepared),
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_DEV: 'yes',
  }
  const config = loadPaymentsConfig(env)
  const limitsOf = async ({ db }: Pick<typeof test.database, 'db'>) =>
    (
      await sql`SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock`.execute(
        db,
      )
    ).rows
  const operator = await openOperatorDeps(config)
  expect(await limitsOf(operator)).toEqual([{ statement: '1h', lock: '5s' }])
  await operator.close()
  const service = openPaymentsDatabase(config, () => {})
  expect(await limitsOf(service)).toEqual([{ statement: '12s', lock: '5s' }])
  await service.close()
  await test.close()
})

it.each(['drop', 'refuse'] as const)('refuses a pooler that no setting names, as a start does: %s', async (does) => {
  const test = await openTestDatabase()
  onTestFinished(() => test.close())
  const pooler = await openStartupPooler(test.url, does)
  onTestFinished(pooler.close)
  const config = loadPaymentsConfig({
    PAYMENTS_DATABASE_URL: pooler.url,
    PAYMENTS_DB_PREPARED: 'true',
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_DEV: 'yes',
  })
  await expect(openOperatorDeps(config)).rejects.toThrow(
    new Error('the database is behind a pooler that keeps no settings of a session: set PAYMENTS_DB_PREPARED=false'),
  )
})
