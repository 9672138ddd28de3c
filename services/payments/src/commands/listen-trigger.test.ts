import { anyId } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { operatorDeps, startPayments, type TestPayments, UNKNOWN_ID } from '../../test/payments-app.ts'
import { commandRunner } from '../../test/run-command.ts'
import { TRIGGERED_TYPES } from '../use-cases/trigger-event.ts'
import { triggerCommand } from './listen.ts'

let payments: TestPayments
beforeAll(async () => {
  payments = await startPayments()
})
afterAll(() => payments.close())

const { run, readJson } = commandRunner([triggerCommand], () => operatorDeps(payments))

describe('payments trigger', () => {
  it('makes a test merchant where there is none, and prints the event with its merchant and its object', async () => {
    const answer = await readJson(z.looseObject({ merchantId: z.string() }), 'trigger', 'transaction.created')
    expect(answer).toEqual({ event: 'transaction.created', merchantId: anyId, objectId: anyId })
    const { merchantId } = answer
    const [event, merchant, object, ...rest] = await run('trigger', 'app.added', '--merchant', merchantId)
    expect([event, merchant]).toEqual(['event        app.added', `merchant id  ${merchantId}`])
    expect([object, rest]).toEqual([expect.stringMatching(/^object id {4}[0-9a-f]{24}$/), []])
    const merchants = await payments.database.db.selectFrom('merchants').select(['id', 'test']).execute()
    expect(merchants).toEqual([{ id: merchantId, test: true }])
  })

  it.each([
    [['nothing.here'], `cannot trigger nothing.here; can trigger ${TRIGGERED_TYPES.join(', ')}`],
    [['account.closed'], `cannot trigger account.closed; can trigger ${TRIGGERED_TYPES.join(', ')}`],
    [
      ['dispute.opend'],
      `cannot trigger dispute.opend; can trigger ${TRIGGERED_TYPES.join(', ')}; did you mean dispute.opened?`,
    ],
    [['transaction.created', '--merchant', UNKNOWN_ID], `there is no merchant ${UNKNOWN_ID}`],
    [['transaction.created', '--merchant', 'x'], '--merchant must be 24 hexadecimal digits'],
  ])('refuses %j', async (words, message) => {
    await expect(run('trigger', ...words)).rejects.toHaveProperty('message', message)
  })
})
