import { createHash } from 'node:crypto'
import { distributed } from '@trestle/testing/temporary-database.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { callerOf } from '../../test/caller.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../test/payments-app.ts'
import { LOWEST } from '../pagination/page-query.ts'
import { type DeliveryJob, deliveryTask } from '../webhooks/delivery.ts'
import { callCreateWebhook, callReplayWebhook } from '../webhooks/webhook-repository.ts'
import { deleteOldDistributedRows, deleteOldEventsByMerchant, takeDistributedRows } from './distributed-rows.ts'

// These tests run on plain PostgreSQL too, because the statements for distributed databases are plain SQL.

let payments: TestPayments
let member: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
})
afterAll(() => payments.close())

const DAY_MS = 86_400_000
const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS)
const EXPIRED = { column: 'expires', age: '0' }

describe('takeDistributedRows', () => {
  /** Takes all rows in one database transaction, as the outbox does. */
  const take = (left: readonly string[] = []) =>
    payments.service.db.transaction().execute((trx) => takeDistributedRows(payments.service.db)(trx, 100, left))

  afterEach(async () => {
    await (await take()).remove?.()
  })

  async function createWebhook(merchantId: string): Promise<string> {
    const { outcome } = await callCreateWebhook(payments.deps.pools, {
      caller: callerOf(member),
      merchantId,
      webhook: { url: 'https://shop.example/hooks', events: [] },
      encryptedSecret: Buffer.from('secret'),
      allowHttp: false,
    })
    if (outcome?.verdict !== 'created') throw new Error('no webhook was created')
    return outcome.webhook.id
  }

  /** Creates a merchant with a webhook and events that wait to be sent again. */
  async function replayed() {
    const { id: merchantId } = await createTestMerchant(payments, member)
    const url = `/merchants/${merchantId}`
    await payments.app.inject({ method: 'PUT', url, headers: member.headers, payload: { name: 'Our shop' } })
    const webhookId = await createWebhook(merchantId)
    const replay = (to = webhookId) =>
      callReplayWebhook(payments.deps.pools, { merchantId, webhookId: to, after: LOWEST })
    expect(await replay()).toBe(1)
    return { merchantId, webhookId, replay }
  }

  it('gives a row that was not deleted after the commit the same jobs again', async () => {
    const { merchantId, webhookId } = await replayed()
    const [first, second] = [await take(), await take()]
    expect(first.entries).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/),
        task: deliveryTask.name,
        data: { merchantId, eventId: expect.any(String), webhookId },
        group: merchantId,
      },
    ])
    expect(second.entries).toEqual(first.entries)
    await second.remove?.()
    const { rows, entries } = await take()
    expect([rows, entries]).toEqual([0, []])
  })

  it('gives an event that is sent again a job of its own: the queue keeps the finished one', async () => {
    const { replay } = await replayed()
    const first = await take()
    await first.remove?.()
    await replay()
    const again = await take()
    expect(again.entries.map(({ data }) => data)).toEqual(first.entries.map(({ data }) => data))
    expect(new Set([...first.entries, ...again.entries].map(({ id }) => id)).size).toBe(2)
  })

  it('sends an event that waits for a replay to another webhook to both, also after a process has read its row', async () => {
    const { merchantId, webhookId, replay } = await replayed()
    const others = [await createWebhook(merchantId), await createWebhook(merchantId)]
    await replay(others[0])
    const first = await take()
    await replay(others[1])
    await first.remove?.()
    const webhooksOf = ({ entries }: typeof first) => entries.map(({ data }) => (data as DeliveryJob).webhookId).sort()
    expect([webhooksOf(first), webhooksOf(await take())]).toEqual([
      [webhookId, ...others.slice(0, 1)].sort(),
      [webhookId, ...others].sort(),
    ])
  })

  it('leaves out the kinds of rows that the queue takes no more of', async () => {
    await replayed()
    const { rows, entries } = await take([deliveryTask.name])
    expect([rows, entries, (await take()).rows]).toEqual([0, [], 1])
  })

  it.skipIf(distributed)('deletes the rows of other merchants when those of one merchant stay', async () => {
    const [stays, goes] = [await replayed(), await replayed()]
    const { db } = payments.owner
    await sql`
      CREATE FUNCTION payments.keep_row() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN RAISE EXCEPTION 'the row of merchant % stays', OLD.merchant_id; END $$`.execute(db)
    await sql
      .raw(
        `CREATE TRIGGER keep_row BEFORE DELETE ON payments.outbox FOR EACH ROW
        WHEN (OLD.merchant_id = '${stays.merchantId}') EXECUTE FUNCTION payments.keep_row()`,
      )
      .execute(db)
    const { rows, remove } = await take()
    await expect(remove?.()).rejects.toThrow(`the row of merchant ${stays.merchantId} stays`)
    const left = await db.selectFrom('outbox').select('merchant_id').execute()
    expect([rows, left]).toEqual([2, [{ merchant_id: stays.merchantId }]])
    expect(goes.merchantId).not.toBe(stays.merchantId)
    await sql`DROP FUNCTION payments.keep_row CASCADE`.execute(db)
  })

  it('takes nothing while another process takes rows', async () => {
    await replayed()
    const taken = await payments.service.db.transaction().execute(async (trx) => {
      const held = await takeDistributedRows(payments.service.db)(trx, 100, [])
      // The lock belongs to this outbox table. A process of another namespace can take its own rows.
      const { rows: locks } = await sql`
        SELECT objid::regclass::text AS "table" FROM pg_locks
        WHERE locktype = 'advisory' AND pid = pg_backend_pid()`.execute(trx)
      return [held.rows, (await take()).rows, locks]
    })
    expect(taken).toEqual([1, 0, [{ table: 'payments.outbox' }]])
  })
})

describe('deleteOldDistributedRows', () => {
  let merchantIds: readonly string[]
  beforeEach(async () => {
    const { db } = payments.database
    await db.deleteFrom('spent_tokens').execute()
    const merchants = [await createTestMerchant(payments, member), await createTestMerchant(payments, member)]
    merchantIds = merchants.map(({ id }) => id)
    const rows = merchantIds.flatMap((merchant_id) => [
      { merchant_id, jti: 'old', expires: daysAgo(1) },
      { merchant_id, jti: 'new', expires: daysAgo(-1) },
    ])
    await db.insertInto('spent_tokens').values(rows).execute()
  })
  const deleteOld = () => deleteOldDistributedRows(payments.service.db, 'spent_tokens', EXPIRED)
  const tokens = () =>
    payments.database.db
      .selectFrom('spent_tokens')
      .select(['merchant_id', 'jti'])
      .orderBy('merchant_id')
      .orderBy('jti')
      .execute()
  const shown = (jti: string) => merchantIds.map((merchant_id) => ({ merchant_id, jti }))

  it('deletes the old rows of each merchant, and keeps the others', async () => {
    expect([await deleteOld(), await deleteOld(), await tokens()]).toEqual([2, 0, shown('new')])
  })

  it('leaves a row that another transaction holds for the next run', async () => {
    const [merchantId = ''] = merchantIds
    const deleted = await payments.database.db.transaction().execute(async (trx) => {
      const held = trx.selectFrom('spent_tokens').select('jti').where('merchant_id', '=', merchantId)
      await held.where('jti', '=', 'old').forUpdate().execute()
      return deleteOld()
    })
    expect([deleted, await deleteOld(), await tokens()]).toEqual([1, 1, shown('new')])
  })

  it('deletes old rows of a table that every server has', async () => {
    const { db } = payments.database
    const codeOf = (note: string, expires: Date) => ({
      code_hash: createHash('sha256').update(note).digest(),
      note,
      created: daysAgo(20),
      expires,
    })
    await db
      .insertInto('app_invitations')
      .values([codeOf('old', daysAgo(1)), codeOf('new', daysAgo(-1))])
      .execute()
    const deleted = await deleteOldDistributedRows(payments.service.db, 'app_invitations', EXPIRED)
    expect([deleted, await db.selectFrom('app_invitations').select('note').execute()]).toEqual([1, [{ note: 'new' }]])
  })

  it('deletes invitations that expired more than 30 days ago, although the service may not lock merchants', async () => {
    const { db } = payments.database
    const [id = ''] = merchantIds
    for (const email of ['old@example.com', 'new@example.com']) {
      const url = `/merchants/${id}/users`
      await payments.app.inject({ method: 'POST', url, headers: member.headers, payload: { email } })
    }
    const users = await db.selectFrom('users').select(['id', 'email']).execute()
    for (const user of users) {
      const expires = daysAgo(user.email === 'old@example.com' ? 31 : 29)
      await db.updateTable('invitations').set({ expires }).where('user_id', '=', user.id).execute()
    }
    const deleted = await deleteOldDistributedRows(payments.service.db, 'invitations', EXPIRED)
    expect([deleted, await db.selectFrom('invitations').select('user_id').execute()]).toEqual([
      1,
      [{ user_id: users.find(({ email }) => email === 'new@example.com')?.id }],
    ])
  })

  it('deletes old rows of a table that lies on one server', async () => {
    const { db } = payments.database
    const creationOf = (key: string, created: Date) => ({
      identity_id: member.id,
      key,
      fingerprint: Buffer.alloc(32),
      created,
    })
    await db
      .insertInto('merchant_creations')
      .values([creationOf('old', daysAgo(2)), creationOf('new', daysAgo(0))])
      .execute()
    const old = { column: 'created', age: '24 hours' }
    const deleted = await deleteOldDistributedRows(payments.service.db, 'merchant_creations', old)
    expect([deleted, await db.selectFrom('merchant_creations').select('key').execute()]).toEqual([1, [{ key: 'new' }]])
  })
})

describe('deleteOldEventsByMerchant', () => {
  it('deletes all events of more than 30 days of each merchant, in batches, and keeps later ones', async () => {
    const { db } = payments.owner
    await sql`DELETE FROM payments.events`.execute(db)
    const merchants = [await createTestMerchant(payments, member), await createTestMerchant(payments, member)]
    const ids = merchants.map(({ id }) => id)
    const hex = (value: number) => value.toString(16).padStart(8, '0')
    const eventAt = (merchant_id: string, created: Date, n: number) => ({
      merchant_id,
      id: `${hex(Math.floor(created.getTime() / 1_000))}${hex(n)}${merchant_id.slice(16)}`,
      created,
      type: 'app.added',
    })
    const [many = '', few = ''] = ids
    const young = ids.map((id) => eventAt(id, daysAgo(29), 0))
    await db
      .insertInto('events')
      .values([
        ...Array.from({ length: 1_500 }, (_, n) => eventAt(many, daysAgo(31), n)),
        eventAt(few, daysAgo(31), 0),
        ...young,
      ])
      .execute()
    expect(await deleteOldEventsByMerchant(payments.service.db)).toBe(1_501)
    const left = await db.selectFrom('events').select(['merchant_id', 'id']).orderBy('merchant_id').execute()
    expect(left).toEqual(young.map(({ merchant_id, id }) => ({ merchant_id, id })))
  })
})
