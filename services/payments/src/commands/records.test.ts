import { createNoopMeter } from '@opentelemetry/api'
import { anyId, anyTime } from '@trestle/testing/any-value.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { shownCard, shownMerchant, shownTransaction, trailEntry } from '../../test/bodies.ts'
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
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { createPanVault } from '../vault/pan-vault.ts'
import { createWebhookSecrets } from '../webhooks/webhook-secret.ts'
import { adjustCommand } from './adjust.ts'
import { disputesCommand } from './disputes.ts'
import { fraudsCommand } from './frauds.ts'
import { vaultCommand } from './vault.ts'

let payments: TestPayments
let app: TestApp
let merchantId: string
let transactionId: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  // A live merchant: only real disputes arrive on paper.
  merchantId = (await createTestMerchant(payments, app, { currency: 'EUR' })).id
  transactionId = await customerPayment(payments, merchantId, { number: '4242424242424242', amount: 1_000 })
  await capture(payments, app, transactionId, 1_000)
})
afterAll(() => payments.close())

const commands = [adjustCommand, disputesCommand, fraudsCommand, vaultCommand]
const { run, json } = commandRunner(commands, () => operatorDeps(payments))
const audit = () =>
  payments.database.db
    .selectFrom('audit')
    .select(['action', 'payload', 'merchant_id', 'identity_id'])
    .orderBy('created', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst()
const get = async (url: string) => (await payments.app.inject({ url, headers: app.headers })).json()

describe('payments disputes', () => {
  it('open, lost, won: records disputes of live money, once for each reference', async () => {
    const opened = await json<{ id: string }>(
      'disputes',
      'open',
      transactionId,
      '--amount',
      '300',
      '--reason',
      '4837',
      '--reference',
      'paper 1',
    )
    expect(opened).toEqual({
      id: opened.id,
      transactionId,
      amount: 300,
      currency: 'EUR',
      status: 'open',
      due: expect.any(String),
    })
    expect(await json('disputes', 'open', transactionId, '--reference', 'paper 1')).toEqual(opened)
    expect(await audit()).toEqual({
      action: 'dispute.open',
      payload: { disputeId: opened.id },
      merchant_id: merchantId,
      identity_id: null,
    })
    for (const _ of [1, 2])
      expect(await json('disputes', 'lost', opened.id)).toEqual({
        status: 'lost',
        id: anyId,
        transactionId,
        amount: 300,
        currency: 'EUR',
        due: anyTime,
      })
    await expect(run('disputes', 'won', opened.id)).rejects.toHaveProperty(
      'message',
      `dispute ${opened.id} was closed the other way`,
    )
    const rest = await json<{ id: string }>('disputes', 'open', transactionId)
    expect(rest).toEqual({ amount: 700, id: anyId, transactionId, currency: 'EUR', status: 'open', due: anyTime })
    await expect(run('disputes', 'open', transactionId)).rejects.toHaveProperty(
      'message',
      'can dispute at most EUR 0.00',
    )
    expect(await json('disputes', 'won', rest.id)).toEqual({
      status: 'won',
      id: anyId,
      transactionId,
      amount: 700,
      currency: 'EUR',
      due: anyTime,
    })
    const trail = [
      trailEntry({ amount: 1_000, balance: 961, fee: { flat: 25, rate: 14 }, capture: true, lineId: anyId }),
      trailEntry({
        amount: 300,
        balance: -2_800,
        fee: { flat: 2_500, rate: 0 },
        dispute: { id: opened.id, lost: true },
        lineId: anyId,
      }),
      trailEntry({ amount: 700, dispute: { id: rest.id, won: true } }),
    ]
    const card = shownCard({ bin: '424242', last4: '4242' })
    expect((await get(`/transactions/${transactionId}`)).transaction).toEqual(
      shownTransaction({
        ...{ id: transactionId, merchantId, test: false, amount: 1_000, capturedAmount: 1_000, disputedAmount: 300 },
        ...{ card, trail },
      }),
    )
  })

  it('fails for objects that do not exist, and for malformed values', async () => {
    await expect(run('disputes', 'open', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no transaction ${UNKNOWN_ID}`,
    )
    await expect(run('disputes', 'won', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no dispute ${UNKNOWN_ID}`,
    )
    await expect(run('disputes', 'open', transactionId, '--reason', '1')).rejects.toHaveProperty(
      'message',
      'there is no reason 1',
    )
    await expect(run('disputes', 'open', transactionId, '--amount', '0')).rejects.toHaveProperty(
      'message',
      '--amount is a number of minor units',
    )
  })
})

describe('payments frauds', () => {
  it('add: stores an alert, once for each reference', async () => {
    const words = [
      'frauds',
      'add',
      transactionId,
      '--reason',
      '6',
      '--reported',
      '2026-03-01T10:20:30Z',
      '--reference',
      'p',
    ]
    const { id } = await json<{ id: string }>(...words)
    expect(await json(...words)).toEqual({
      id,
      transactionId,
      reason: 6,
      reported: '2026-03-01T10:20:30.000Z',
      merchantId,
      created: createdOf(id),
    })
    expect(await get(`/frauds/${id}`)).toEqual({
      fraud: { reason: 6, id, merchantId, transactionId, created: createdOf(id), reported: '2026-03-01T10:20:30.000Z' },
    })
    expect(await audit()).toEqual({
      action: 'fraud.added',
      payload: { fraudId: id },
      merchant_id: merchantId,
      identity_id: null,
    })
    expect(await json('frauds', 'add', transactionId)).toEqual({
      reason: null,
      reported: null,
      id: anyId,
      merchantId,
      transactionId,
      created: anyTime,
    })
    await expect(run('frauds', 'add', UNKNOWN_ID)).rejects.toHaveProperty(
      'message',
      `there is no transaction ${UNKNOWN_ID}`,
    )
    await expect(run('frauds', 'add', transactionId, '--reason', '9')).rejects.toHaveProperty(
      'message',
      '--reason is a number from 0 to 8',
    )
    await expect(run('frauds', 'add', transactionId, '--reported', 'x')).rejects.toHaveProperty(
      'message',
      '--reported is no instant',
    )
  })
})

describe('payments adjust', () => {
  it('adds a line to the balance, up and down', async () => {
    const { id } = await createTestMerchant(payments, app, { currency: 'EUR' })
    const up = await json<{ lineId: string }>('adjust', id, '+500', 'Welcome')
    expect(up).toEqual({ lineId: up.lineId, balance: 500 })
    expect(await json('adjust', id, '-700', 'Correction of 1 March')).toEqual({ balance: -200, lineId: anyId })
    expect(await get(`/lines/${up.lineId}`)).toEqual({
      adjustment: true,
      balance: 500,
      description: 'Welcome',
      id: anyId,
      merchantId: id,
      test: false,
      created: anyTime,
      balanceAfter: 500,
    })
    expect(await get(`/merchants/${id}`)).toEqual({
      merchant: shownMerchant({ id, currency: 'EUR', created: createdOf(id), balance: -200 }),
    })
    expect(await audit()).toEqual({
      action: 'balance.adjusted',
      merchant_id: id,
      payload: { amount: -700, lineId: anyId },
      identity_id: null,
    })
    await expect(run('adjust', UNKNOWN_ID, '5', 'x')).rejects.toHaveProperty(
      'message',
      `there is no merchant ${UNKNOWN_ID}`,
    )
    await expect(run('adjust', id, '0', 'x')).rejects.toHaveProperty(
      'message',
      'the amount is a number of minor units, not 0',
    )
    await expect(run('adjust', id, '1', '')).rejects.toHaveProperty('message', 'the text has 1 to 255 characters')
  })
})

describe('payments vault', () => {
  // A rotation seals every row of the database, so each test has its own.
  let payments: TestPayments
  let app: TestApp
  beforeEach(async () => {
    payments = await startPayments()
    app = await createTestApp(payments)
  })
  afterEach(() => payments.close())

  const [old, fresh] = [
    { id: 1, key: Buffer.alloc(32, 1) },
    { id: 2, key: Buffer.alloc(32, 2) },
  ]
  const pepper = Buffer.alloc(32, 9)
  type Keys = [typeof old, ...(typeof old)[]]
  const vaultOf = (...keys: Keys) => createPanVault(keys, createNoopMeter())
  const secretsOf = (...vaultKeys: Keys) => createWebhookSecrets({ vaultKeys, pepper })
  const withVault = (...keys: Keys) =>
    commandRunner(commands, () => ({
      ...operatorDeps(payments),
      vault: vaultOf(...keys),
      webhookSecrets: secretsOf(...keys),
    }))

  // ASVS 11.2.2
  it('rotate: seals each number with the first key, once, so that the old key is not needed', async () => {
    const { id } = await createTestMerchant(payments, app, { test: true })
    const source = await customerPayment(payments, id, { number: '1000000000000000' })
    const all = await payments.database.db.selectFrom('instruments').select('id').execute()
    const both = withVault(fresh, old)
    await expect(withVault(fresh).run('vault', 'rotate')).rejects.toHaveProperty(
      'message',
      'sealed with key 1, which is not configured',
    )
    const turns = await Promise.all([both.json('vault', 'rotate'), both.json('vault', 'rotate')])
    const rotated = turns.map((turn) => Object(turn).rotated)
    expect(rotated.reduce((a, b) => a + b)).toBe(all.length)
    expect(await both.json('vault', 'rotate')).toEqual({ rotated: 0, webhooks: 0, keyId: 2 })
    expect(await both.json('vault', 'keys')).toEqual([{ keyId: 2, count: all.length, webhooks: 0 }])
    const row = await payments.database.db
      .selectFrom('transactions')
      .innerJoin('instruments', 'instruments.id', 'transactions.instrument_id')
      .select(['instruments.id', 'pan_sealed', 'pan_mac'])
      .where('transactions.id', '=', source)
      .executeTakeFirstOrThrow()
    const vault = vaultOf(fresh)
    const place = { merchantId: id, instrumentId: row.id }
    expect(vault.open(row.pan_sealed, place, 'authorization')).toBe('1000000000000000')
    expect(vault.macs('1000000000000000')).toEqual([row.pan_mac])
  })

  it('rotate: seals secrets of webhooks too, also those that the pepper sealed', async () => {
    const { id } = await createTestMerchant(payments, app, { test: true })
    const { db } = payments.database
    const url = `/merchants/${id}/webhooks`
    const request = { method: 'POST', headers: app.headers } as const
    const made = await payments.app.inject({ ...request, url, payload: { url: 'https://shop.example/hooks' } })
    const { webhook } = made.json()
    await payments.app.inject({ ...request, url: `${url}/${webhook.id}/secrets` })
    const rowOf = () => db.selectFrom('webhooks').selectAll().where('id', '=', webhook.id).executeTakeFirstOrThrow()
    // An earlier version sealed secrets with the pepper, under the id 0.
    const peppered = secretsOf({ id: 0, key: pepper }).seal('of the pepper', id)
    await db.updateTable('webhooks').set({ secret_sealed: peppered }).where('id', '=', webhook.id).execute()

    // A vault key with the same id is another key.
    const [zero, both] = [{ id: 0, key: Buffer.alloc(32, 3) }, [fresh, old] as const]
    expect(secretsOf(zero, old).open(peppered, id)).toBe('of the pepper')
    expect(secretsOf(zero, old).isCurrent(peppered, id)).toBe(false)
    expect(await withVault(...both).json('vault', 'keys')).toEqual([
      { keyId: 0, count: 0, webhooks: 1 },
      { keyId: 1, count: 0, webhooks: 1 },
    ])
    const turns = [withVault(...both).json('vault', 'rotate'), withVault(...both).json('vault', 'rotate')]
    expect((await Promise.all(turns)).reduce<number>((sum, turn) => sum + Object(turn).webhooks, 0)).toBe(1)
    const { secret_sealed, previous_sealed } = await rowOf()
    expect(secretsOf(fresh).open(secret_sealed, id)).toBe('of the pepper')
    expect(secretsOf(fresh).open(previous_sealed ?? Buffer.of(), id)).toBe(webhook.secret)
    expect(await withVault(fresh).json('vault', 'rotate')).toEqual({ webhooks: 0, rotated: 0, keyId: 2 })
  })
})
