import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { lastAudit, operatorAudit } from '../../test/audit.ts'
import { shownMerchant } from '../../test/bodies.ts'
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
import { adjustCommand } from './merchants.ts'

let payments: TestPayments
let app: TestApp
beforeAll(async () => {
  payments = await startPayments()
  app = await createTestApp(payments)
})
afterAll(() => payments.close())

const { run, json, readJson } = commandRunner([adjustCommand], () => operatorDeps(payments))
const get = async (url: string) => (await payments.app.inject({ url, headers: app.headers })).json()

describe('payments adjust', () => {
  it('adds a line to the balance, up and down', async () => {
    const { id } = await createTestMerchant(payments, app, { currency: 'EUR' })
    const up = await readJson(z.looseObject({ lineId: z.string() }), 'adjust', id, '+500', 'Welcome')
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
    expect(await lastAudit(payments)).toEqual(operatorAudit('balance.adjusted', { amount: -700, lineId: anyId }, id))
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
