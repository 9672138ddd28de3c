import { randomUUID } from 'node:crypto'
import { type DistributionState, expectWhole, stateStatements } from '@trestle/citus/notes.ts'
import { distributed } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorHeaders, testOperators } from '../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { pretendDistributed } from '../../test/pretended-cluster.ts'
import { loadPaymentsConfig } from '../config.ts'
import { findPlacement, findWrongEntry, followPlacement } from './placement.ts'
import { createTenantLookup } from './tenants.ts'

// These tests run on plain PostgreSQL too, because the statements for distributed databases are plain SQL.

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

describe('createTenantLookup', () => {
  const find = (tenants: ReturnType<typeof createTenantLookup>, name: string) =>
    tenants(payments.service.pools.read, name)

  it('finds the merchant of an id by its tag, and that of a public key', async () => {
    const tenants = createTenantLookup(() => new Date())
    const { id, key } = await createTestMerchant(payments, member)
    const other = `${'5'.repeat(16)}${id.slice(16)}`
    expect([await find(tenants, id), await find(tenants, other), await find(tenants, String(key))]).toEqual([
      id,
      id,
      id,
    ])
  })

  it('remembers no unknown id or key: a merchant may be made with it later', async () => {
    const tenants = createTenantLookup(() => new Date())
    const { id, key } = await createTestMerchant(payments, member)
    const other = '7'.repeat(24)
    const otherKey = '77777777-7777-4777-8777-777777777777'
    expect([await find(tenants, other), await find(tenants, otherKey)]).toEqual(['', ''])
    await sql`UPDATE payments.merchants SET tag = ${'7'.repeat(8)}, key = ${otherKey}::uuid WHERE id = ${id}`.execute(
      payments.owner.db,
    )
    expect([await find(tenants, other), await find(tenants, otherKey)]).toEqual([id, id])
    expect(await find(tenants, String(key))).toBe('')
  })

  it('prefers an alias to the tag, a second after the first alias at most', async () => {
    let now = new Date('2026-01-01T00:00:00Z')
    const tenants = createTenantLookup(() => now)
    const [{ id: ofTag }, { id: ofAlias }] = [
      await createTestMerchant(payments, member),
      await createTestMerchant(payments, member),
    ]
    const alias = `${'6'.repeat(16)}${ofTag.slice(16)}`
    expect([await find(tenants, alias), await find(tenants, alias)]).toEqual([ofTag, ofTag])
    await sql`INSERT INTO payments.id_aliases (id, merchant_id) VALUES (${alias}, ${ofAlias})`.execute(
      payments.owner.db,
    )
    now = new Date(now.getTime() + 1_000)
    expect([await find(tenants, alias), await find(tenants, ofTag)]).toEqual([ofAlias, ofTag])
  })
})

const configWith = (settings: Readonly<Record<string, string>>) =>
  loadPaymentsConfig({
    PAYMENTS_DATABASE_URL: payments.url,
    PAYMENTS_BASE_URL: 'http://localhost',
    PAYMENTS_DEV: 'true',
    ...settings,
  })

describe('findPlacement', () => {
  const placementOf = (settings: Readonly<Record<string, string>>) =>
    findPlacement(configWith(settings), () => new Date())

  it.skipIf(distributed)('keeps the settings where all rows are on one server', async () => {
    const read = await placementOf({ PAYMENTS_DB_READ_URL: payments.url })
    expect([read.isDistributed, read.batchScope, read.findOwner]).toEqual([false, 'any', undefined])
    expect((await placementOf({ PAYMENTS_BATCH: 'merchant' })).batchScope).toBe('merchant')
  })

  describe('of a distributed database', () => {
    beforeAll(async () => {
      await pretendDistributed(payments)
    })

    it.skipIf(distributed)('is entered by a worker only where the settings name the coordinator', async () => {
      const { database } = configWith({})
      // Citus has this table in the schema `pg_catalog`.
      await payments.owner.db.transaction().execute(async (trx) => {
        await sql`SET LOCAL allow_system_table_mods = on`.execute(trx)
        await sql`CREATE TABLE pg_catalog.pg_dist_local_group AS SELECT 2 AS groupid`.execute(trx)
      })
      expect([
        await findWrongEntry(database),
        await findWrongEntry({ ...database, coordinatorUrl: payments.url }),
      ]).toEqual([
        new Error(
          'PAYMENTS_DATABASE_URL enters by a worker of a Citus cluster: set PAYMENTS_COORDINATOR_URL to the address of its coordinator',
        ),
        new Error('PAYMENTS_COORDINATOR_URL leads to a worker of a Citus cluster, not to its coordinator'),
      ])
      await expect(expectWhole(payments.owner.db.withoutPlugins(), payments.service.names)).rejects.toThrow(
        'this server is a worker of a Citus cluster: use the address of its coordinator',
      )
      await sql`UPDATE pg_dist_local_group SET groupid = 0`.execute(payments.owner.db)
      expect(await findWrongEntry(database)).toBeUndefined()
    })

    it('puts captures of one merchant in a call', async () => {
      const found = await placementOf({})
      expect([found.isDistributed, found.batchScope]).toEqual([true, 'merchant'])
    })

    it.each([
      ['PAYMENTS_BATCH', 'any', 'the database is distributed: PAYMENTS_BATCH must be merchant, or not be set'],
      [
        'PAYMENTS_DB_READ_URL',
        'postgres://localhost:1/standby',
        'the database is distributed: PAYMENTS_DB_READ_URL must not be set, because a standby has one node only',
      ],
    ])('refuses the start with %s=%s', async (name, value, message) => {
      await expect(placementOf({ [name]: value })).rejects.toThrow(message)
    })
  })
})

/** A running service during a rebalance. The test simulates the rebalance by changing the state row. */
describe('followPlacement', () => {
  const lines: unknown[] = []
  let laterMs = 0
  let merchantId: string
  let rows: ReturnType<typeof followPlacement>
  beforeAll(async () => {
    merchantId = (await createTestMerchant(payments, member)).id
    const config = configWith({})
    const logger = pino({ base: {} }, { write: (line) => lines.push(JSON.parse(line).msg) })
    const now = () => new Date(Date.now() + laterMs)
    const { service: database, operators } = payments
    rows = followPlacement(await findPlacement(config, now), { config, database, operators, logger, now })
  })
  afterAll(() => rows.stop())

  const recordState = async (state: DistributionState) => {
    for (const statement of stateStatements(payments.service.names, state)) {
      await sql.raw(statement).execute(payments.owner.db)
    }
  }
  const create = () =>
    payments.app.inject({ method: 'POST', url: '/merchants', headers: member.headers, payload: merchantBody })
  const read = () => payments.app.inject({ method: 'GET', url: '/me', headers: member.headers })
  const price = async () =>
    payments.app.inject({
      ...{ method: 'PUT', url: `/operator/merchants/${merchantId}/pricing`, payload: { rate: 7 } },
      headers: { ...operatorHeaders('admin'), 'idempotency-key': randomUUID() },
    })
  const statusOf = async (answer: Promise<{ readonly statusCode: number }>) => (await answer).statusCode

  it('503: refuses writes during a rebalance, and answers reads', async () => {
    await recordState('distributing')
    await expect.poll(() => statusOf(create())).toBe(503)
    const refused = await create()
    expect([refused.headers['retry-after'], refused.json()]).toEqual([
      '1',
      { code: 'SERVICE_UNAVAILABLE', message: 'The service cannot answer now' },
    ])
    expect(await statusOf(read())).toBe(200)
    await expect(sql`SELECT 1`.execute(payments.service.db)).rejects.toThrow('rows are moving to other servers')
  })

  it('503: refuses changes of operators during a rebalance', async () => {
    const refused = await price()
    expect([refused.statusCode, refused.json()]).toEqual([
      503,
      { code: 'SERVICE_UNAVAILABLE', message: 'The service cannot answer now' },
    ])
  })

  it('uses the statements for distributed databases once rows are there', async () => {
    await pretendDistributed(payments)
    await recordState('distributed')
    expect(rows.hasJustRebalanced()).toBe(false)
    await expect.poll(() => statusOf(create())).toBe(201)
    expect([rows.isDistributed, rows.batchScope, payments.service.mode().isRebalancing]).toEqual([
      true,
      'merchant',
      false,
    ])
    const { id } = await createTestMerchant(payments, member)
    expect(await payments.service.mode().findTenant?.(payments.service.pools.read, id)).toBe(id)
    expect(lines).toEqual([
      'rows are moving to other servers: writes are refused until they are there',
      'rows have moved, writes go on',
    ])
  })

  it('200: accepts changes of operators once rows are there', async () => {
    expect(await statusOf(price())).toBe(200)
  })

  it('says for ten seconds that rows have just moved', () => {
    expect(rows.hasJustRebalanced()).toBe(true)
    laterMs = 10_000
    expect(rows.hasJustRebalanced()).toBe(false)
  })

  it('503: refuses writes during a rebalance to one server, and takes them afterwards', async () => {
    await recordState('undoing')
    await expect.poll(() => statusOf(create())).toBe(503)
    expect(await statusOf(read())).toBe(200)
    await recordState('plain')
    await expect.poll(() => statusOf(create())).toBe(201)
  })
})
