import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countStatements } from '../../test/counted-statements.ts'
import { customerPayment } from '../../test/customer-payment.ts'
import { capture } from '../../test/operations.ts'
import {
  createTestApp,
  createTestMerchant,
  operatorDeps,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { transactionsCommand } from './transactions.ts'

let payments: TestPayments
let app: TestApp
let shopId: string
let otherId: string
let first: string
let ofOther: string
let second: string
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
  const fields = { email: 'shop@example.com', currency: 'EUR', test: true }
  shopId = (await createTestMerchant(payments, app, fields)).id
  otherId = (await createTestMerchant(payments, app, { ...fields, email: 'other@example.com' })).id
  first = await customerPayment(payments, shopId)
  ofOther = await customerPayment(payments, otherId)
  second = await customerPayment(payments, shopId, { amount: 1_000 })
  await capture(payments, app, second, 600)
})
afterAll(() => payments.close())

const { run, json } = commandRunner([transactionsCommand], () => operatorDeps(payments))
const shown = async (id: string) =>
  (await payments.app.inject({ url: `/transactions/${id}`, headers: app.headers })).json().transaction

it('payments transactions list: prints those of all merchants, newest first, as the API shows them', async () => {
  expect(await json('transactions', 'list')).toEqual([await shown(second), await shown(ofOther), await shown(first)])
  expect(await json('transactions', 'list', '--merchant', UNKNOWN_ID)).toEqual([])
  expect(await json('transactions', 'list', '--failed')).toEqual([])
  expect(await json('transactions', 'list', '--successful', '--limit', '1')).toEqual([await shown(second)])
  expect(await json('transactions', 'list', '--before', second, '--merchant', shopId)).toEqual([await shown(first)])
})

it('payments transactions list: prints a table for people', async () => {
  expect((await run('transactions', 'list')).map((row) => row.split(/ {2,}/))).toEqual([
    ['ID', 'AMOUNT', 'STATUS', 'CARD', 'MERCHANT', 'CREATED'],
    [second, 'EUR 10.00', 'partly captured', '•••• 0000', shopId, anyTime],
    [ofOther, 'EUR 3.00', 'authorized', '•••• 0000', otherId, anyTime],
    [first, 'EUR 3.00', 'authorized', '•••• 0000', shopId, anyTime],
  ])
})

it('payments transactions list: sends one statement, whatever the number of merchants on the page', async () => {
  const { deps, count } = countStatements(operatorDeps(payments))
  const rows = await commandRunner([transactionsCommand], () => deps).run('transactions', 'list')
  expect(rows.map((row) => row.split(/ {2,}/)[4])).toEqual(['MERCHANT', shopId, otherId, shopId])
  expect(count()).toBe(1)
})

it('payments transactions show: prints a transaction with its trail', async () => {
  expect(await json('transactions', 'show', second)).toEqual(await shown(second))
  const lines = await run('transactions', 'show', second)
  expect(lines.slice(lines.indexOf('trail:')).map((line) => line.split(/ {2,}/))).toEqual([
    ['trail:'],
    ['ID', 'CREATED', 'KIND', 'AMOUNT', 'REFERENCE'],
    [anyId, anyTime, 'capture', 'EUR 6.00', '-'],
  ])
  expect(Object.fromEntries(lines.slice(0, lines.indexOf('')).map((line) => line.split(/ {2,}/, 2)))).toEqual({
    id: second,
    amount: 'EUR 10.00',
    status: 'partly captured',
    card: '•••• 0000',
    merchant: shopId,
    created: anyTime,
    mode: 'test',
    scheme: 'visa',
    descriptor: expect.any(String),
    reference: '-',
    tds: '-',
    pending: 'EUR 4.00',
    captured: 'EUR 6.00',
    refunded: 'EUR 0.00',
    voided: 'EUR 0.00',
    disputed: 'EUR 0.00',
  })
})

it.each([
  [['show', UNKNOWN_ID], `there is no transaction ${UNKNOWN_ID}`],
  [['show', 'x'], 'the id must be 24 hexadecimal digits'],
  [['list', '--merchant', 'x'], '--merchant must be 24 hexadecimal digits'],
  [
    ['list', '--limit', 'x'],
    "error: option '--limit <rows>' argument 'x' is invalid. It must be a whole number from 1 to 1000.",
  ],
  [['list', '--failed', '--successful'], "error: option '--failed' cannot be used with option '--successful'"],
])('payments transactions refuses %j', async (words, message) => {
  await expect(run('transactions', ...words)).rejects.toHaveProperty('message', message)
})
