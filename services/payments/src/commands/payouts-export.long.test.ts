import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { z } from 'zod'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import { payableMerchant } from '../../test/operator-payouts.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  turnOffTriggers,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { nextBankDay } from '../payouts/bank-days.ts'
import { verifyLedger } from '../use-cases/verify-ledger.ts'
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
afterEach(() => rm(folder, { recursive: true }))
afterAll(() => payments.close())

const { run, readJson } = commandRunner([payoutsCommand, merchantsCommand], () => operatorDeps(payments))
const Exported = z.looseObject({ batch: z.string(), files: z.array(z.string()) })
const Turn = z.looseObject({ payout: z.string().optional() })
const DEBTOR = ['--name', 'Trestle', '--iban', 'DK50 0040 0440 1162 43'] as const

/** Creates a live merchant with a payout that waits for its export. Returns the ids of both. */
async function waitingPayout(changes: object): Promise<{ merchantId: string; payoutId: string }> {
  const merchantId = await payableMerchant(payments, app, 'EUR', changes)
  const [turn] = await readJson(z.array(Turn), 'payouts', 'run', '--merchant', merchantId)
  return { merchantId, payoutId: turn?.payout ?? '' }
}

/** Sets the IBAN of a merchant and a payout by SQL and records both, like a merchant from an older release. */
async function setStoredIban(merchantId: string, payoutId: string, iban: string): Promise<void> {
  const { db } = payments.database
  await db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await trx.deleteFrom('state_entries').where('merchant_id', '=', merchantId).execute()
    await trx.updateTable('merchants').set({ iban }).where('id', '=', merchantId).execute()
    await trx.updateTable('payouts').set({ iban }).where('id', '=', payoutId).execute()
    await sql`SELECT ${sql.table('record_states')}(${merchantId}, 'merchants', ARRAY[${merchantId}])`.execute(trx)
    await sql`SELECT ${sql.table('record_states')}(${merchantId}, 'payouts', ARRAY[${payoutId}])`.execute(trx)
  })
}

it('export: holds back what the bank would refuse by name, and pays the others', async () => {
  const written = await waitingPayout({ name: 'Юрий ЕООД' })
  const holder = await waitingPayout({
    name: 'مكتبة',
    bank: { iban: 'GR1601101250000000012300695', holder: 'Θάλασσα ΑΕ' },
  })
  const arabic = await waitingPayout({ name: 'مكتبة' })
  const british = await waitingPayout({ name: 'Shop Ltd', bank: { iban: 'GB33BUKB20201555555555' } })
  const nameless = await waitingPayout({ name: undefined })
  const outside = await waitingPayout({ name: 'Boğaziçi', bank: { iban: 'TR330006100519786457841326' } })
  const stale = await waitingPayout({ name: 'Short' })
  await setStoredIban(stale.merchantId, stale.payoutId, 'DE5137040044053201300')
  const { batch, ...exported } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
  const held = [
    {
      ...arabic,
      merchantName: 'مكتبة',
      reason: 'the name مكتبة of the account holder has letters without a Latin form',
    },
    {
      ...british,
      merchantName: 'Shop Ltd',
      reason: 'it crosses the border of the EEA, and PAYMENTS_PAYOUT_ADDRESS does not name the town of the payer',
    },
    {
      ...nameless,
      merchantName: null,
      reason: 'neither bank.holder nor the name of the merchant names the owner of its account',
    },
    { ...stale, merchantName: 'Short', reason: 'its IBAN is not one of its country' },
  ]
  const byMerchant = (rows: readonly { merchantId: string }[]) =>
    rows.toSorted((one, other) => (one.merchantId < other.merchantId ? -1 : 1))
  expect({
    ...exported,
    held: byMerchant(z.array(z.looseObject({ merchantId: z.string() })).parse(exported.held)),
  }).toEqual({
    payouts: 3,
    files: [`payouts-${batch}.xml`, `payouts-${batch}.csv`],
    waiting: 0,
    held: byMerchant(held),
  })
  const [xml = '', csv = ''] = await Promise.all(exported.files.map((name) => readFile(join(folder, name), 'utf8')))
  const names = [...xml.matchAll(/<Cdtr><Nm>(.*?)<\/Nm>/g)].map(([, name]) => name)
  expect([names.sort(), csv.split('\r\n')[1]]).toEqual([
    ['Thalassa AE', 'Yuriy EOOD'],
    `${outside.payoutId},${outside.merchantId},Boğaziçi,TR330006100519786457841326,EUR,98625`,
  ])
  // After its bank account is corrected, the merchant is paid by the next export.
  await run('merchants', 'bank', arabic.merchantId, 'DK5000400440116243', '--holder', 'Maktaba ApS')
  const later = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
  expect(await readFile(join(folder, later.files[0] ?? ''), 'utf8')).toContain('<Cdtr><Nm>Maktaba ApS</Nm></Cdtr>')
  expect([written.payoutId, holder.payoutId].every((id) => xml.includes(`<EndToEndId>${id}</EndToEndId>`))).toBe(true)
})

it('export: pays in the older version on the day that was asked for, and not on a day without settlement', async () => {
  await waitingPayout({ name: 'Shop' })
  const christmas = new Date().getUTCFullYear() + 1
  const exportOn = (day: string) => run('payouts', 'export', folder, ...DEBTOR, '--execution-date', day)
  for (const day of [`${christmas}-12-25`, '2026-01-02', 'soon']) {
    await expect(exportOn(day)).rejects.toHaveProperty(
      'message',
      '--execution-date must be a day on which banks settle, today or later, such as 2026-03-02',
    )
  }
  const day = nextBankDay(new Date(Date.UTC(christmas, 5, 6)), 'UTC')
  const { files, batch } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR, '--execution-date', day)
  const text = await readFile(join(folder, files[0] ?? ''), 'utf8')
  expect(text).toContain(`<ReqdExctnDt><Dt>${day}</Dt></ReqdExctnDt>`)
  await run('payouts', 'export', folder, '--again', batch)
  expect(await readFile(join(folder, files[0] ?? ''), 'utf8')).toBe(text)
})

/** Creates a live merchant with a balance in lev by SQL, because the service no longer accepts the lev. */
async function createMerchantInLev(): Promise<string> {
  const { id } = await createTestMerchant(payments, app, { name: 'Лев ЕООД', bank: { iban: 'DK5000400440116243' } })
  await payments.database.db.transaction().execute(async (trx) => {
    await turnOffTriggers(trx)
    await trx.updateTable('merchants').set({ currency: 'BGN' }).where('id', '=', id).execute()
    await trx.updateTable('merchant_balances').set({ currency: 'BGN' }).where('merchant_id', '=', id).execute()
    await sql`SELECT ${sql.table('record_states')}(${id}, 'merchants', ARRAY[${id}])`.execute(trx)
  })
  return id
}

async function setClock(merchantId: string, days: bigint): Promise<void> {
  const ahead = { clock_offset: days * 86_400n }
  await payments.database.db.updateTable('merchant_balances').set(ahead).where('merchant_id', '=', merchantId).execute()
}

it('export: pays a merchant in lev in euro, whose captures and refunds go on in lev, and the ledger holds', async () => {
  const merchantId = await createMerchantInLev()
  const paid = await customerPayment(payments, merchantId, { currency: 'BGN', amount: 200_000 })
  await capture(payments, app, paid, 195_583)
  await setClock(merchantId, 3n)
  const [turn] = await readJson(z.array(Turn), 'payouts', 'run', '--merchant', merchantId)
  await setClock(merchantId, 0n)
  const { batch, files } = await readJson(Exported, 'payouts', 'export', folder, ...DEBTOR)
  const xml = await readFile(join(folder, files[0] ?? ''), 'utf8')
  // BGN 1,955.83 less the fees of 1.35 % and EUR 0.25 is BGN 1,928.94, which is EUR 986.25.
  expect([/<InstdAmt.*?<\/InstdAmt>/.exec(xml)?.[0], /<Cdtr><Nm>.*?<\/Nm>/.exec(xml)?.[0]]).toEqual([
    '<InstdAmt Ccy="EUR">986.25</InstdAmt>',
    '<Cdtr><Nm>Lev EOOD</Nm>',
  ])
  const other = join(folder, 'again')
  await mkdir(other)
  await run('payouts', 'export', other, '--again', batch)
  expect(await readFile(join(other, files[0] ?? ''), 'utf8')).toBe(xml)
  await run('payouts', 'settle', turn?.payout ?? '')
  await capture(payments, app, paid, 417)
  const { headers } = app
  const url = `/transactions/${paid}/refunds`
  const refund = await payments.app.inject({ method: 'POST', url, headers, payload: { amount: 1_000 } })
  const { currency, refundedAmount } = refund.json().transaction
  expect([refund.statusCode, currency, refundedAmount]).toEqual([201, 'BGN', 1_000])
  for await (const { violations } of verifyLedger(payments.owner.db, { merchantId, heads: new Map() })) {
    expect(violations).toEqual([])
  }
})
