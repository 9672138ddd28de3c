import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { shownCard, shownMerchant, shownTransaction, trailEntry } from '../../test/bodies.ts'
import { basic, createdOf, operatorDeps, startPayments, type TestPayments } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { seedCommand } from './seed.ts'

let payments: TestPayments
let folder: string
async function open(): Promise<void> {
  payments = await startPayments()
  folder = await mkdtemp(join(tmpdir(), 'seed-'))
}
async function close(): Promise<void> {
  await payments.close()
  await rm(folder, { recursive: true })
}

const { json } = commandRunner([seedCommand], () => operatorDeps(payments))
const file = async (content: unknown) => {
  const path = join(folder, 'seed.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const get = async (url: string, key: string) => (await payments.app.inject({ url, headers: basic(key) })).json()

const app = { id: '555eca95ed59804d2cf12b11', name: 'Node client', key: '4ff7de37-dddf-4e51-8cc9-48b61a102923' }
const merchant = {
  id: '55006bdfe0308c4cbfdbd0e1',
  key: '11111111-1111-4111-8111-111111111111',
  currency: 'DKK',
  test: true,
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: 'Coffee & John',
  company: { country: 'DK', number: '1' },
  bank: { iban: 'DK50 0040 0440 1162 43' },
  apps: [app.id],
}
const card = { number: '4100000000000000', expiry: { month: 8, year: 2066 } }
const transaction = {
  id: '560fd96b7973ff3d2362a78c',
  merchantId: merchant.id,
  currency: 'EUR',
  amount: 1_000,
  card,
  operations: [{ capture: 600 }, { refund: 100 }, { void: 50 }],
}
/** The expected trail entry of a capture, with the exchange rate of the test data. */
const shownCapture = (fields: { readonly amount: number; readonly [field: string]: unknown }) =>
  trailEntry({ capture: true, lineId: anyId, exchange: { rate: '7.456', date: '2024-03-01' }, ...fields })
const whole = { apps: [app], merchants: [merchant], transactions: [transaction] }

describe('payments seed', () => {
  beforeEach(open)
  afterEach(close)

  it('inserts apps, merchants and transactions with their ids and keys, and runs the operations', async () => {
    expect(await json('seed', await file(whole))).toEqual({ apps: 1, merchants: 1, transactions: 1, operations: 3 })
    expect(await get('/me', app.key)).toEqual({
      identity: { id: app.id, name: app.name, created: createdOf(app.id) },
    })
    const seen = await get(`/merchants/${merchant.id}`, app.key)
    expect(seen).toEqual({
      merchant: shownMerchant({
        id: merchant.id,
        key: merchant.key,
        test: true,
        company: { country: 'DK', number: '1' },
        created: '2015-03-11T16:22:58.587Z',
        balance: 3_482,
        bank: { iban: 'DK5000400440116243' },
      }),
    })
    expect(await get(`/transactions/${transaction.id}`, app.key)).toEqual({
      transaction: shownTransaction({
        id: transaction.id,
        merchantId: merchant.id,
        created: createdOf(transaction.id),
        amount: 1_000,
        pendingAmount: 350,
        capturedAmount: 600,
        refundedAmount: 100,
        voidedAmount: 50,
        card: shownCard({ bin: '410000', last4: '0000', expiry: '2066-08-31T23:59:59.999Z', scheme: 'visa' }),
        successful: true,
        trail: [
          shownCapture({ amount: 600, balance: 4_228, fee: { flat: 186, rate: 60 } }),
          trailEntry({ amount: 100, balance: -746, refund: true, lineId: anyId }),
          trailEntry({ amount: 50, void: true }),
        ],
      }),
    })
    expect(await get(`/merchants/${merchant.id}/lines?limit=5`, app.key)).toHaveLength(2)
    const { db } = payments.database
    expect(await db.selectFrom('id_aliases').selectAll().execute()).toEqual([
      { id: transaction.id, merchant_id: merchant.id },
    ])
  })

  it('may be repeated, and continues where it broke off', async () => {
    await json('seed', await file(whole))
    expect(await json('seed', await file(whole))).toEqual({ apps: 0, merchants: 0, transactions: 0, operations: 0 })
    const operations = [...transaction.operations, { capture: 350 }]
    const longer = { ...whole, transactions: [{ ...transaction, operations }] }
    expect(await json('seed', await file(longer))).toEqual({ transactions: 0, operations: 1, apps: 0, merchants: 0 })
    const continued = await get(`/transactions/${transaction.id}`, app.key)
    expect(continued).toEqual({
      transaction: shownTransaction({
        id: transaction.id,
        merchantId: merchant.id,
        created: createdOf(transaction.id),
        amount: 1_000,
        pendingAmount: 0,
        capturedAmount: 950,
        refundedAmount: 100,
        voidedAmount: 50,
        card: shownCard({ bin: '410000', last4: '0000' }),
        trail: [
          shownCapture({ amount: 600, balance: 4_228, fee: { flat: 186, rate: 60 } }),
          trailEntry({ amount: 100, balance: -746, refund: true, lineId: anyId }),
          trailEntry({ amount: 50, void: true }),
          shownCapture({ amount: 350, balance: 2_387, fee: { flat: 186, rate: 36 } }),
        ],
      }),
    })
  })

  it('gives a merchant another tag when its own is taken, and finds objects below it by alias', async () => {
    await json('seed', await file(whole))
    const twin = {
      ...merchant,
      id: `54006bdfe0308c4c${merchant.id.slice(16)}`,
      key: '22222222-2222-4222-8222-222222222222',
    }
    const seconds = Math.floor(Date.now() / 1_000) + 30
    const below = {
      ...transaction,
      id: `${seconds.toString(16)}1973ff3d${merchant.id.slice(16)}`,
      merchantId: twin.id,
      operations: [],
    }
    await json('seed', await file({ merchants: [twin], transactions: [below] }))
    expect(await get(`/transactions/${below.id}`, app.key)).toEqual({
      transaction: shownTransaction({
        merchantId: twin.id,
        created: createdOf(below.id),
        amount: 1_000,
        pendingAmount: 1_000,
        card: shownCard({ bin: '410000' }),
      }),
    })
    const charge = await payments.app.inject({
      method: 'POST',
      url: `/merchants/${twin.id}/transactions`,
      headers: basic(app.key),
      payload: { transactionId: below.id, currency: 'EUR', amount: 5 },
    })
    const { id } = charge.json().transaction
    expect(await get(`/transactions/${id}`, app.key)).toEqual({
      transaction: shownTransaction({
        id,
        merchantId: twin.id,
        created: createdOf(below.id),
        amount: 5,
        pendingAmount: 5,
        card: shownCard({ bin: '410000', code: { present: false } }),
        recurring: true,
        sourceTransactionId: below.id,
      }),
    })
    // The time in the seeded id is in the future. Even so, the service makes later ids greater.
    expect(id > below.id).toBe(true)
  })
})

describe('payments seed, after the whole file', () => {
  beforeAll(async () => {
    await open()
    await json('seed', await file(whole))
  })
  afterAll(close)

  it.each<[string, unknown, string]>([
    ['no JSON', 'x', 'the file is not JSON'],
    ['an unknown field', { app: [] }, 'file: has no field app'],
    ['a key that is no UUID', { apps: [{ ...app, key: 'x' }] }, 'apps.0.key: must be a UUID'],
    [
      'the key of another app',
      { apps: [{ ...app, id: '1'.repeat(24) }] },
      `the key of app ${'1'.repeat(24)} is that of app ${app.id}`,
    ],
    [
      'a live merchant with an account of no country',
      { merchants: [{ ...merchant, id: '1'.repeat(24), test: false, bank: { iban: 'XX0912345678' } }] },
      'merchants.0.bank.iban: must be an IBAN of its country',
    ],
    [
      'a merchant in a currency that has ended',
      { merchants: [{ ...merchant, id: '1'.repeat(24), currency: 'BGN' }] },
      'merchants.0.currency: must be a funding currency',
    ],
    [
      'an unknown app',
      { merchants: [{ ...merchant, id: '1'.repeat(24), key: app.key, apps: ['2'.repeat(24)] }] },
      `merchant ${'1'.repeat(24)}: there is no app ${'2'.repeat(24)}`,
    ],
    [
      'an unknown merchant',
      { transactions: [{ ...transaction, id: '1'.repeat(24), merchantId: '2'.repeat(24) }] },
      `transaction ${'1'.repeat(24)}: there is no merchant ${'2'.repeat(24)}`,
    ],
    [
      'an app of a time to come',
      { apps: [{ ...app, id: 'f'.repeat(24) }] },
      `app ${'f'.repeat(24)}: its time is still to come`,
    ],
    [
      'a merchant of a time to come',
      { merchants: [{ ...merchant, id: 'f'.repeat(24) }] },
      `merchant ${'f'.repeat(24)}: its time is still to come`,
    ],
    [
      'a transaction with an id of a time to come',
      { transactions: [{ ...transaction, id: 'f00000000000000000000001' }] },
      'transaction f00000000000000000000001: its time is still to come',
    ],
    [
      'a transaction that is created in a time to come',
      { transactions: [{ ...transaction, id: '1'.repeat(24), created: '2999-01-01T00:00:00Z' }] },
      `transaction ${'1'.repeat(24)}: its time is still to come`,
    ],
    [
      'two operations in one',
      { transactions: [{ ...transaction, operations: [{ capture: 1, void: 1 }] }] },
      'transactions.0.operations.0: is not valid',
    ],
  ])('refuses %s, and leaves nothing', async (_name, content, message) => {
    const { db } = payments.database
    const count = async () => (await db.selectFrom('merchants').select('id').execute()).length
    const before = await count()
    await expect(json('seed', await file(content))).rejects.toHaveProperty('message', message)
    expect(await count()).toBe(before)
  })

  it('refuses transactions of live merchants', async () => {
    const live = { ...merchant, id: '1'.repeat(24), key: '33333333-3333-4333-8333-333333333333', test: false }
    const ofLive = { ...transaction, id: '2'.repeat(24), merchantId: live.id }
    await expect(json('seed', await file({ merchants: [live], transactions: [ofLive] }))).rejects.toHaveProperty(
      'message',
      `transaction ${ofLive.id}: merchant ${live.id} is live`,
    )
  })

  it('refuses operations beyond the amount', async () => {
    const greedy = { ...transaction, id: '3'.repeat(24), operations: [{ capture: 600 }, { capture: 600 }] }
    await expect(json('seed', await file({ transactions: [greedy] }))).rejects.toHaveProperty(
      'message',
      `transaction ${greedy.id}: capture of 600: limit-exceeded`,
    )
  })

  it('refuses without PAYMENTS_ALLOW_SEED', async () => {
    const deps = operatorDeps(payments)
    const config = { ...deps.config, seedAllowed: false }
    const strict = commandRunner([seedCommand], () => ({ ...deps, config }))
    await expect(strict.run('seed', await file(whole))).rejects.toHaveProperty(
      'message',
      'seeding needs PAYMENTS_ALLOW_SEED=yes',
    )
  })
})
