import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anyId } from '@trestle/testing/any-text.ts'
import { type RawBuilder, sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { AUDIT_FULL, lastAudit, operatorAudit, withoutAudit } from '../../test/audit.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createdOf,
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  turnOffTriggers,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import type { PaymentsTables } from '../database.ts'
import { payOutDaily } from '../use-cases/pay-out-merchants.ts'
import { merchantsCommand } from './merchants.ts'
import { payoutsCommand } from './payouts.ts'

let payments: TestPayments
let app: TestApp
let folder: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'payouts-'))
})
afterEach(async () => {
  await removeAll('merchants', 'merchant_balances', 'payouts', 'payout_batches', 'audit')
  await rm(folder, { recursive: true })
})
afterAll(() => payments.close())

/** Empties tables so that a test finds only its own merchants and payouts. */
async function removeAll(...tables: readonly (keyof PaymentsTables)[]): Promise<void> {
  await payments.database.db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    for (const table of tables) await trx.deleteFrom(table).execute()
  })
}

const { run, json, readJson } = commandRunner([payoutsCommand, merchantsCommand], () => operatorDeps(payments))

/** Runs the daily payout job with this schedule in the settings. */
const payDaily = (schedule: 'off' | 'daily') => {
  const { deps, database } = payments
  const config = { ...deps.config, payouts: { ...deps.config.payouts, schedule } }
  return payOutDaily({ ...deps, db: database.db, config })
}

/** Creates a live merchant whose balance is due for a payout. */
async function merchantWithMoney(currency: string, changes: object = {}): Promise<string> {
  const bank = { iban: 'DK5000400440116243' }
  const { id } = await createTestMerchant(payments, app, { currency, bank, name: 'Shop', ...changes })
  const transactionId = await customerPayment(payments, id, { amount: 10_000, currency, number: '4242424242424242' })
  await capture(payments, app, transactionId, 10_000)
  await payments.database.db
    .updateTable('merchant_balances')
    .set({ clock_offset: 3n * 86_400n })
    .where('merchant_id', '=', id)
    .execute()
  return id
}

const Exported = z.looseObject({ batch: z.string(), payouts: z.number(), files: z.array(z.string()) })
const Payouts = z.array(z.looseObject({ id: z.string(), merchantId: z.string() }))
const Turn = z.looseObject({
  merchantId: z.string(),
  payout: z.string().optional(),
  amount: z.number().optional(),
  skipped: z.string().optional(),
})

const DEBTOR = ['--name', 'Trestle', '--iban', 'DK50 0040 0440 1162 43'] as const
const balance = async (id: string) =>
  (
    await payments.database.db
      .selectFrom('merchant_balances')
      .select('balance')
      .where('merchant_id', '=', id)
      .executeTakeFirst()
  )?.balance

describe('payments payouts', () => {
  it('run: pays out merchants with money that is due, and prints why others are skipped', async () => {
    const rich = await merchantWithMoney('EUR', { name: 'Café' })
    const homeless = await merchantWithMoney('EUR', { bank: undefined })
    const young = await merchantWithMoney('EUR')
    await payments.database.db
      .updateTable('merchant_balances')
      .set({ clock_offset: 0n })
      .where('merchant_id', '=', young)
      .execute()
    const turns = await readJson(z.array(Turn), 'payouts', 'run')
    expect(turns).toEqual([
      { merchantId: rich, payout: expect.stringMatching(/^[0-9a-f]{24}$/), amount: 9_840 },
      { merchantId: homeless, skipped: 'no_iban' },
      { merchantId: young, skipped: 'below_minimum' },
    ])
    expect(await balance(rich)).toBe(0n)
    expect(await lastAudit(payments)).toEqual(operatorAudit('merchant.paid-out', { payoutId: turns[0]?.payout }, rich))
    expect(await json('payouts', 'run', '--merchant', homeless)).toEqual([{ merchantId: homeless, skipped: 'no_iban' }])
    expect(await json('payouts', 'list', '--status', 'created')).toEqual([
      {
        id: turns[0]?.payout,
        merchantId: rich,
        created: expect.any(String),
        amount: 9_840,
        currency: 'EUR',
        status: 'created',
        test: false,
      },
    ])
  })

  it('run: prints the failure of a merchant, and pays the others', async () => {
    const [locked, free] = [await merchantWithMoney('EUR'), await merchantWithMoney('EUR')]
    await payments.database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('merchant_balances').selectAll().where('merchant_id', '=', locked).forUpdate().execute()
      const turns = await readJson(z.array(Turn), 'payouts', 'run')
      expect(turns.filter(({ merchantId }) => [locked, free].includes(merchantId))).toEqual([
        { merchantId: locked, failure: 'canceling statement due to lock timeout' },
        { merchantId: free, payout: expect.any(String), amount: 9_840 },
      ])
      await expect(payDaily('daily')).rejects.toHaveProperty('message', '1 merchants could not be paid out')
    })
    await run('payouts', 'run', '--merchant', locked)
    expect([await balance(locked), await balance(free)]).toEqual([0n, 0n])
    const payouts = await readJson(Payouts, 'payouts', 'list')
    for (const { id, merchantId } of payouts) if ([locked, free].includes(merchantId)) await run('payouts', 'fail', id)
  })

  it('run, settle: are made with their entry in the audit log, or not at all', async () => {
    const merchantId = await merchantWithMoney('EUR')
    const statuses = () =>
      payments.database.db.selectFrom('payouts').select('status').where('merchant_id', '=', merchantId).execute()
    await withoutAudit(payments, async () => {
      const turns = await json('payouts', 'run', '--merchant', merchantId)
      expect(turns).toEqual([{ merchantId, failure: expect.stringMatching(AUDIT_FULL) }])
    })
    expect([await statuses(), await balance(merchantId)]).toEqual([[], 9_840n])
    const [turn] = await readJson(z.array(Turn), 'payouts', 'run', '--merchant', merchantId)
    const payoutId = turn?.payout ?? ''
    expect(await lastAudit(payments)).toEqual(operatorAudit('merchant.paid-out', { payoutId }, merchantId))
    await withoutAudit(payments, () => expect(run('payouts', 'settle', payoutId)).rejects.toThrow(AUDIT_FULL))
    expect([await statuses(), await balance(merchantId)]).toEqual([[{ status: 'created' }], 0n])
    await run('payouts', 'settle', payoutId)
    expect(await lastAudit(payments)).toEqual(operatorAudit('payout.settled', { payoutId }, merchantId))
  })

  it('the daily job pays out as the command does, unless the settings no longer say so', async () => {
    const id = await merchantWithMoney('EUR')
    expect([await payDaily('off'), await balance(id)]).toEqual(['dropped', 9_840n])
    expect([await payDaily('daily'), await balance(id)]).toEqual(['done', 0n])
    await run('payouts', 'fail', (await readJson(Payouts, 'payouts', 'list', '--status', 'created'))[0]?.id ?? '')
    expect(await lastAudit(payments)).toHaveProperty('action', 'payout.failed')
  })

  it('export: writes euro as pain.001 and other currencies as CSV, readable by the owner only, and each payout once', async () => {
    const danish = await merchantWithMoney('DKK')
    for (const id of [await merchantWithMoney('EUR', { name: 'Café' }), danish])
      await run('payouts', 'run', '--merchant', id)
    const { batch, payouts, files } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    expect([payouts, files]).toEqual([2, [`payouts-${batch}.xml`, `payouts-${batch}.csv`]])
    const [xml = '', csv = ''] = await Promise.all(files.map((name) => readFile(join(folder, name), 'utf8')))
    expect(xml).toContain('<NbOfTxs>1</NbOfTxs><CtrlSum>98.40</CtrlSum>')
    expect(xml).toContain('<Cdtr><Nm>Cafe</Nm></Cdtr>')
    expect(csv).toMatch(new RegExp(`\r\n[0-9a-f]{24},${danish},Shop,DK5000400440116243,DKK,9679\r\n$`))
    expect((await stat(join(folder, files[0] ?? ''))).mode & 0o777).toBe(0o600)
    expect(await json('payouts', 'export', folder, ...DEBTOR)).toEqual({ payouts: 0, files: [], waiting: 0 })
  })

  it('export: marks no payout and leaves no file when it cannot write', async () => {
    await run('payouts', 'run', '--merchant', await merchantWithMoney('EUR'))
    const waiting = await json('payouts', 'list', '--status', 'created')
    const missing = join(folder, 'missing')
    await expect(run('payouts', 'export', missing, ...DEBTOR)).rejects.toHaveProperty(
      'message',
      expect.stringMatching(
        `^ENOENT: no such file or directory, open '${missing}/\\.payouts-[0-9a-f]{24}\\.xml\\.part'$`,
      ),
    )
    expect(await json('payouts', 'list', '--status', 'created')).toEqual(waiting)
    const before = await readJson(z.array(z.looseObject({})), 'payouts', 'batches')
    const exported = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    expect(exported.payouts).toBe(1)
    expect(await lastAudit(payments)).toHaveProperty('action', 'payouts.exported')
    expect(await json('payouts', 'batches')).toEqual([
      { id: exported.batch, created: expect.any(String), payouts: 1 },
      ...before,
    ])
    expect((await readdir(folder)).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  it('export --again: writes the same bytes again, and never another payout', async () => {
    const id = await merchantWithMoney('EUR', { name: 'Before' })
    await run('payouts', 'run', '--merchant', id)
    const first = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    const read = () => readFile(join(folder, first.files[0] ?? ''), 'utf8')
    const text = await read()
    expect(text).toContain(`<MsgId>payouts-${first.batch}</MsgId>`)
    await payments.database.db.updateTable('merchants').set({ name: 'After' }).where('id', '=', id).execute()
    await run('payouts', 'run', '--merchant', await merchantWithMoney('EUR'))
    await rm(join(folder, first.files[0] ?? ''))
    const other = ['--name', 'Other', '--iban', 'DE89370400440532013000']
    const { waiting: _waiting, ...asBefore } = first
    expect(await json('payouts', 'export', folder, ...other, '--again', first.batch)).toEqual(asBefore)
    expect(await read()).toBe(text)
    const second = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    expect([second.payouts, second.batch === first.batch]).toEqual([1, false])
    const [payout] = (await readJson(Payouts, 'payouts', 'list')).filter(({ merchantId }) => merchantId === id)
    await run('payouts', 'fail', payout?.id ?? '')
    await expect(run('payouts', 'export', folder, '--again', first.batch)).rejects.toHaveProperty(
      'message',
      `payout ${payout?.id} of the batch is failed`,
    )
    await expect(run('payouts', 'export', folder, '--again', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no batch ${UNKNOWN_ID}`,
    )
  })

  /** Exports a batch of one payout. Also returns a function that stores a forged batch and exports it again. */
  async function exportOne() {
    await run('payouts', 'run', '--merchant', await merchantWithMoney('EUR'))
    const { batch } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    const { db } = payments.database
    const find = db.selectFrom('payout_batches').selectAll().where('id', '=', batch)
    const { payouts, form, ...rest } = await find.executeTakeFirstOrThrow()
    const forge = async (id: string, forged: readonly unknown[]) => {
      const [debtor, written] = [JSON.stringify(rest.debtor), JSON.stringify(form)]
      const row = { ...rest, id, debtor, form: written, payouts: JSON.stringify(forged) }
      await db.insertInto('payout_batches').values(row).execute()
      return run('payouts', 'export', folder, '--again', id)
    }
    const twice = `payout ${z.object({ id: z.string() }).parse(payouts[0]).id} is in batches more than once`
    return { batch, payouts, forge, twice }
  }

  it('export --again: adds each export to the audit log', async () => {
    const { batch } = await exportOne()
    await json('payouts', 'export', folder, '--again', batch)
    const { db } = payments.database
    const audit = db.selectFrom('audit').select('payload').where('action', '=', 'payouts.exported-again')
    expect((await audit.orderBy('id').execute()).at(-1)).toEqual({ payload: { batch, payouts: 1 } })
  })

  it('export --again: refuses a batch that names a payout that is not there', async () => {
    const { forge } = await exportOne()
    const absent = { id: UNKNOWN_ID, merchantId: UNKNOWN_ID, holder: 'Mallory' }
    await expect(forge('1'.repeat(24), [absent])).rejects.toHaveProperty(
      'message',
      'the batch names payouts that are not there',
    )
  })

  it('export --again: refuses a batch that names a payout twice', async () => {
    const { forge, payouts, twice } = await exportOne()
    await expect(forge('2'.repeat(24), [...payouts, ...payouts])).rejects.toHaveProperty('message', twice)
  })

  it('export --again: refuses a batch whose payout is in another batch too', async () => {
    const { batch, forge, payouts, twice } = await exportOne()
    await expect(forge('3'.repeat(24), payouts)).rejects.toHaveProperty('message', twice)
    await expect(run('payouts', 'export', folder, '--again', batch)).rejects.toHaveProperty('message', twice)
  })

  it('export: refuses a payout that was changed by hand, the first time and again', async () => {
    const id = await merchantWithMoney('EUR')
    await run('payouts', 'run', '--merchant', id)
    const { db } = payments.database
    const by = async (change: RawBuilder<unknown>) =>
      db.transaction().execute(async (trx) => {
        await turnOffTriggers(trx)
        await change.execute(trx)
      })
    const setIban = (iban: string) =>
      by(sql`UPDATE ${sql.table('payouts')} SET iban = ${iban} WHERE merchant_id = ${id}`)
    const [own, other] = ['DK5000400440116243', 'DE89370400440532013000']
    const changed = /^[0-9a-f]{24} of payouts: who gets or pays it was changed by hand; look with: /
    await setIban(other)
    await expect(run('payouts', 'export', folder, ...DEBTOR)).rejects.toThrow(changed)
    await setIban(own)
    const { batch, files } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    const again = () => run('payouts', 'export', folder, '--again', batch)
    const text = () => readFile(join(folder, files[0] ?? ''), 'utf8')
    const before = await text()
    await setIban(other)
    await expect(again()).rejects.toThrow(changed)
    await setIban(own)
    for (const [column, path] of [
      ['debtor', '{iban}'],
      ['form', '{executionDate}'],
      ['payouts', '{0,holder}'],
    ] as const) {
      const rows = await db
        .selectFrom('payout_batches')
        .select(column)
        .where('id', '=', batch)
        .executeTakeFirstOrThrow()
      const set = (value: RawBuilder<unknown>) =>
        by(sql`UPDATE ${sql.table('payout_batches')} SET ${sql.ref(column)} = ${value} WHERE id = ${batch}`)
      await set(sql`jsonb_set(${sql.ref(column)}, ${path}, to_jsonb(${other}::text))`)
      await expect(again()).rejects.toHaveProperty(
        'message',
        `batch ${batch} is not what was exported: its account, a name, an account or an amount was changed`,
      )
      await set(sql`${JSON.stringify(Reflect.get(rows, column))}::jsonb`)
    }
    await again()
    expect(await text()).toBe(before)
  })

  it('export: refuses a payout that is in a batch already', async () => {
    const id = await merchantWithMoney('EUR')
    await run('payouts', 'run', '--merchant', id)
    const { batch } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
    const { db } = payments.database
    const set = async (status: 'created' | 'exported') => {
      const where = db.updateTable('payouts').set({ status }).where('merchant_id', '=', id)
      const { id: payoutId } = await where.returning('id').executeTakeFirstOrThrow()
      await sql`SELECT ${sql.table('record_states')}(${id}, 'payouts', ARRAY[${payoutId}])`.execute(db)
      return payoutId
    }
    const payoutId = await set('created')
    await expect(run('payouts', 'export', folder, ...DEBTOR)).rejects.toHaveProperty(
      'message',
      `payout ${payoutId} is in batch ${batch} already: use --again ${batch}`,
    )
    expect(await json('payouts', 'list', '--status', 'created')).toEqual([
      {
        id: payoutId,
        merchantId: id,
        created: createdOf(payoutId),
        amount: 9_840,
        currency: 'EUR',
        status: 'created',
        test: false,
      },
    ])
    await set('exported')
    expect(await json('payouts', 'export', folder, '--again', batch)).toEqual({
      batch,
      payouts: 1,
      files: [`payouts-${batch}.xml`],
    })
  })

  it('export: refuses a payout without a merchant, and marks nothing', async () => {
    const id = await merchantWithMoney('EUR')
    await run('payouts', 'run', '--merchant', id)
    const { db } = payments.database
    const rename = (from: string, to: string) =>
      db.transaction().execute(async (trx) => {
        await turnOffTriggers(trx)
        await trx.updateTable('merchants').set({ id: to }).where('id', '=', from).execute()
      })
    await rename(id, UNKNOWN_ID)
    await expect(run('payouts', 'export', folder, ...DEBTOR)).rejects.toThrow(/^payout [0-9a-f]{24} has no merchant$/)
    await rename(UNKNOWN_ID, id)
    expect(await json('payouts', 'export', folder, ...DEBTOR)).toEqual({
      payouts: 1,
      batch: anyId,
      files: [expect.any(String)],
      waiting: 0,
    })
  })

  it('export: puts each payout into one batch when two run at once', async () => {
    for (const _ of [1, 2, 3]) await run('payouts', 'run', '--merchant', await merchantWithMoney('EUR'))
    // The second export may find no payout and then makes no batch.
    const Counted = Exported.pick({ payouts: true })
    const both = await Promise.all([1, 2].map(() => readJson(Counted, 'payouts', 'export', folder, ...DEBTOR)))
    expect(both.reduce((sum, { payouts }) => sum + payouts, 0)).toBe(3)
  })

  /** Creates a payout that is in an exported file. */
  async function exportedPayout() {
    const merchantId = await merchantWithMoney('EUR')
    await run('payouts', 'run', '--merchant', merchantId)
    await run('payouts', 'export', folder, ...DEBTOR)
    const listed = z.array(z.looseObject({ id: z.string(), merchantId: z.string(), amount: z.number() }))
    const exported = await readJson(listed, 'payouts', 'list', '--status', 'exported')
    const payout = exported.find((each) => each.merchantId === merchantId)
    if (!payout) throw new Error('a payout was exported')
    return payout
  }
  const journalsOf = async (id: string) => {
    const journals = payments.database.db.selectFrom('journals').select('kind').where('cause_id', '=', id)
    return (await journals.orderBy('id').execute()).map(({ kind }) => kind)
  }

  it('settle: records once that the bank has paid', async () => {
    const { id, merchantId } = await exportedPayout()
    expect(await run('payouts', 'settle', id)).toEqual([`id      ${id}`, 'status  settled'])
    expect(await json('payouts', 'settle', id)).toEqual({ id, status: 'settled' })
    expect(await balance(merchantId)).toBe(0n)
    expect(await journalsOf(id)).toEqual(['payout', 'payoutSettled'])
  })

  it('settle: refuses a payout that has failed', async () => {
    const { id, merchantId, amount } = await exportedPayout()
    await run('payouts', 'fail', id)
    await expect(run('payouts', 'settle', id)).rejects.toHaveProperty('message', `payout ${id} is failed`)
    expect(await balance(merchantId)).toBe(BigInt(amount))
    expect(await journalsOf(id)).toEqual(['payout', 'payoutReversal'])
  })

  it('fail: returns the money of a payout once', async () => {
    const { id, merchantId, amount } = await exportedPayout()
    for (const _ of [1, 2]) expect(await json('payouts', 'fail', id)).toEqual({ id, status: 'failed' })
    expect(await balance(merchantId)).toBe(BigInt(amount))
    expect(await journalsOf(id)).toEqual(['payout', 'payoutReversal'])
  })

  it('fail: refuses a payout that is settled', async () => {
    const { id, merchantId } = await exportedPayout()
    await run('payouts', 'settle', id)
    await expect(run('payouts', 'fail', id)).rejects.toHaveProperty('message', `payout ${id} is settled`)
    expect(await balance(merchantId)).toBe(0n)
    expect(await journalsOf(id)).toEqual(['payout', 'payoutSettled'])
  })

  const pay = async (id: string) => (await readJson(z.array(z.looseObject({})), 'payouts', 'run', '--merchant', id))[0]

  it('merchant bank: lets a live merchant be paid that was made without an account', async () => {
    const id = await merchantWithMoney('EUR', { bank: undefined })
    expect(await pay(id)).toEqual({ merchantId: id, skipped: 'no_iban' })
    expect(await json('merchants', 'bank', id, 'dk50 0040 0440 1162 43')).toEqual({ id, iban: 'DK5000400440116243' })
    expect(await pay(id)).toEqual({ merchantId: id, amount: 9_840, payout: anyId })
  })

  it('merchant bank: leaves older payouts their account', async () => {
    const id = await merchantWithMoney('EUR')
    await pay(id)
    await run('merchants', 'bank', id, 'DE89370400440532013000')
    const { db } = payments.database
    const paid = db.selectFrom('payouts').select('iban').where('merchant_id', '=', id)
    expect(await paid.execute()).toEqual([{ iban: 'DK5000400440116243' }])
    const merchant = db.selectFrom('merchants').select('iban').where('id', '=', id)
    expect(await merchant.execute()).toEqual([{ iban: 'DE89370400440532013000' }])
  })

  it('merchant bank: records each change, and tells the merchant', async () => {
    const id = await merchantWithMoney('EUR', { bank: undefined })
    for (const iban of ['DK5000400440116243', 'DE89370400440532013000']) await run('merchants', 'bank', id, iban)
    const { db } = payments.database
    const audit = db.selectFrom('audit').select(['action', 'payload']).where('merchant_id', '=', id)
    expect((await audit.orderBy('id').execute()).filter(({ action }) => action === 'merchant.changed')).toEqual([
      { action: 'merchant.changed', payload: { iban: 'DK5000400440116243' } },
      { action: 'merchant.changed', payload: { iban: 'DE89370400440532013000' } },
    ])
    const events = db.selectFrom('events').select('type').where('merchant_id', '=', id)
    expect((await events.execute()).filter(({ type }) => type === 'merchant.updated')).toHaveLength(2)
  })

  it.each([
    ['DK51 0040 0440 1162 43', 'the account must be an IBAN'],
    ['DE5137040044053201300', 'the account must be an IBAN of its country'],
    ['XX0912345678', 'the account must be an IBAN of its country'],
  ])('merchant bank: refuses the account %s', async (iban, message) => {
    const id = await merchantWithMoney('EUR', { bank: undefined })
    await expect(run('merchants', 'bank', id, iban)).rejects.toHaveProperty('message', message)
  })

  it('merchant bank: refuses an unknown merchant', async () => {
    const message = `there is no merchant ${UNKNOWN_ID}`
    await expect(run('merchants', 'bank', UNKNOWN_ID, 'DK5000400440116243')).rejects.toHaveProperty('message', message)
  })

  it('fails for payouts that do not exist, and for wrong options before anything is exported', async () => {
    await expect(run('payouts', 'settle', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no payout ${UNKNOWN_ID}`,
    )
    await expect(run('payouts', 'list', '--status', 'lost')).rejects.toHaveProperty(
      'message',
      "error: option '--status <status>' argument 'lost' is invalid. Allowed choices are created, exported, settled, failed.",
    )
    await expect(run('payouts', 'export', folder)).rejects.toHaveProperty('message', '--name is required')
    await expect(run('payouts', 'export', folder, '--name', 'x', '--iban', 'DK51')).rejects.toHaveProperty(
      'message',
      '--iban must be an IBAN',
    )
    await expect(run('payouts', 'export', folder, ...DEBTOR, '--bic', 'x')).rejects.toHaveProperty(
      'message',
      '--bic must be a BIC',
    )
  })
})
