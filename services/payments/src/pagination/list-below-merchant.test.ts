import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { refusals, statusAndBody } from '../../test/bodies.ts'
import {
  basic,
  createTestApp,
  createTestMerchant,
  openTestDatabase,
  secondProcess,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { tableClasses } from '../placement/distributed-rows.ts'

// The standby is a copy of the primary that reports no lag but replays nothing. Rows created after the copy therefore show which
// of the two servers answered.

let primary: TestPayments
let payments: TestPayments
let copy: Awaited<ReturnType<typeof openTestDatabase>>
let member: TestApp
let merchantId: string
let oldHook: string
/** A key of the member. The standby has it, and a test revokes it. */
let spareKey: { readonly id: string; readonly key: string }

beforeAll(async () => {
  primary = await startPayments()
  copy = await openTestDatabase()
  member = await createTestApp(primary)
  merchantId = (await createTestMerchant(primary, member, { test: true })).id
  oldHook = await addHook('old')
  spareKey = await addKey()
  await copyRows(primary.url, copy.url)
  payments = await secondProcess(primary, { url: copy.url, lagMsMax: 60_000, onChange: () => {} })
  await vi.waitFor(() => expect(payments.database.standby()?.lagMs).toBeDefined(), { timeout: 60_000 })
})
afterAll(async () => {
  await payments.close()
  await primary.close()
  await copy.close()
})

async function addHook(name: string): Promise<string> {
  const response = await primary.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/webhooks`,
    headers: member.headers,
    payload: { url: `https://shop.example/${name}` },
  })
  return response.json().webhook.id
}

async function addKey(): Promise<{ readonly id: string; readonly key: string }> {
  const response = await primary.app.inject({ method: 'POST', url: '/me/keys', headers: member.headers })
  expect(response.statusCode).toBe(201)
  return response.json().key
}

const list = (headers: object = member.headers) =>
  payments.app.inject({ url: `/merchants/${merchantId}/webhooks?limit=20`, headers: { ...headers } })
const listed = async (headers?: object) => (await list(headers)).json().map(({ id }: { id: string }) => id)

describe('a list below a merchant, with a standby', () => {
  it('200: reads rows from the standby', async () => {
    expect(await listed()).toEqual([oldHook])
    await addHook('new')
    expect(await listed()).toEqual([oldHook])
  })

  it('200: reads rows from the primary for a key that the standby does not know yet', async () => {
    const newest = await addHook('newest')
    const { key } = await addKey()
    expect((await listed(basic(key)))[0]).toBe(newest)
  })

  it('401: refuses an unknown key, and by the primary a key that the standby still knows', async () => {
    expect(await listed(basic(spareKey.key))).toEqual([oldHook])
    await primary.app.inject({ method: 'DELETE', url: `/me/keys/${spareKey.id}`, headers: member.headers })
    for (const key of ['unknown', spareKey.key]) {
      expect(statusAndBody(await list(basic(key)))).toEqual(refusals.unauthorized)
    }
  })
})

/** Copies all rows to another database, so that it resembles a standby. */
async function copyRows(from: string, to: string): Promise<void> {
  const [source, target] = [new pg.Client(from), new pg.Client(to)]
  await Promise.all([source.connect(), target.connect()])
  await target.query('BEGIN')
  await target.query(`SET LOCAL citus.propagate_set_commands = 'local'`)
  await target.query('SET LOCAL session_replication_role = replica')
  for (const table of Object.keys(tableClasses)) {
    const { rows } = await source.query(
      `SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]')::text AS all FROM payments.${table} t`,
    )
    await target.query(`DELETE FROM payments.${table}`)
    await target.query(
      `INSERT INTO payments.${table} SELECT * FROM jsonb_populate_recordset(NULL::payments.${table}, $1::jsonb)`,
      [rows[0]?.all],
    )
  }
  await target.query('COMMIT')
  await Promise.all([source.end(), target.end()])
}
