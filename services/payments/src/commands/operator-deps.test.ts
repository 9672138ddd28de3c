import { prepared } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
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
  expect(await limitsOf(operator.database)).toEqual([{ statement: '1h', lock: '5s' }])
  await operator.close()
  const service = openPaymentsDatabase(config, () => {})
  expect(await limitsOf(service)).toEqual([{ statement: '12s', lock: '5s' }])
  await service.close()
  await test.close()
})
