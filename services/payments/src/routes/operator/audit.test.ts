import { anyId, anyTime } from '@trestle/testing/any-text.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectBody, refusedField, statusAndBody } from '../../../test/bodies.ts'
import { actorOf, operatorHeaders, storedKey, testOperators } from '../../../test/operators.ts'
import {
  createTestApp,
  createTestMerchant,
  startPayments,
  type TestApp,
  type TestPayments,
} from '../../../test/payments-app.ts'

let payments: TestPayments
let owner: TestApp
let merchantId: string
beforeAll(async () => {
  payments = await startPayments({ operators: testOperators })
  owner = await createTestApp(payments)
  merchantId = (await createTestMerchant(payments, owner, { test: true })).id
  const webhook = { url: 'https://example.com/events' }
  await payments.app.inject({
    method: 'POST',
    url: `/merchants/${merchantId}/webhooks`,
    headers: owner.headers,
    payload: webhook,
  })
  const headers = { ...operatorHeaders('admin'), 'idempotency-key': 'clock' }
  await payments.app.inject({
    method: 'POST',
    url: `/operator/merchants/${merchantId}/clock`,
    headers,
    payload: { advance: 60 },
  })
})
afterAll(() => payments.close())

const get = (query = '') => payments.app.inject({ url: `/operator/audit?${query}`, headers: operatorHeaders('viewer') })
const actionsOf = async (query: string): Promise<readonly string[]> =>
  expectBody(200, await get(query)).entries.map(({ action }: { action: string }) => action)

const CLOCK = 'operator.merchants.advance-clock'
/** The recorded actions, newest first. */
const ACTIONS = [CLOCK, 'webhook.created', 'app.added', 'key.created']

describe('GET /operator/audit', () => {
  it('200: lists the acts of operators and members, newest first, with who acted', async () => {
    const { entries } = expectBody(200, await get())
    const { id, email } = actorOf('admin')
    const entry = { id: anyId, created: anyTime }
    expect(entries.filter(({ action }: { action: string }) => [CLOCK, 'key.created'].includes(action))).toEqual([
      {
        ...entry,
        merchantId,
        action: CLOCK,
        payload: {
          action: 'merchants.advance-clock',
          actor: { id, email },
          key: 'desk-admin',
          role: 'admin',
          address: '127.0.0.1',
          object: { kind: 'merchant', id: merchantId },
          idempotencyKey: storedKey('clock'),
          changes: { advance: 60 },
        },
      },
      { ...entry, identityId: owner.id, action: 'key.created', payload: { id: anyId } },
    ])
    expect(entries.map(({ action }: { action: string }) => action)).toEqual(ACTIONS)
  })

  it.each([
    ['merchant', () => `merchant=${merchantId.toUpperCase()}`, [CLOCK, 'webhook.created', 'app.added']],
    ['operator', () => `actor=${actorOf('admin').id.toUpperCase()}`, [CLOCK]],
    ['app', () => `actor=${owner.id}`, ['webhook.created', 'app.added', 'key.created']],
    ['action', () => 'action=webhook.created', ['webhook.created']],
    ['action of operators', () => 'action=merchants.advance-clock', [CLOCK]],
    ['action of operators as it is stored', () => `action=${CLOCK}`, [CLOCK]],
    ['actor and action', () => `actor=${owner.id}&action=${CLOCK}`, []],
  ])('200: finds the acts of one %s', async (_by, query, found) => {
    expect(await actionsOf(query())).toEqual(found)
  })

  it('200: Link leads through all of them, the oldest first where the client asks for that', async () => {
    const seen: string[] = []
    let query: string | undefined = 'limit=1&order=asc'
    for (let pages = 0; query !== undefined && pages < 9; pages++) {
      const answer = await get(query)
      seen.push(...expectBody(200, answer).entries.map(({ action }: { action: string }) => action))
      query = /\?(.+)>; rel="next"$/.exec(String(answer.headers.link))?.[1]
    }
    expect(seen).toEqual(ACTIONS.toReversed())
  })

  it('400: refuses a malformed id of a merchant', async () => {
    const refused = refusedField('merchant', 'must be 24 hexadecimal digits', 'FORMAT')
    expect(statusAndBody(await get('merchant=x'))).toEqual(refused)
  })

  it('400: refuses the cursor of another list', async () => {
    const cursor = Buffer.from(`exceptions ${merchantId}`).toString('base64url')
    const refused = refusedField('cursor', 'must be a cursor of this list', 'FORMAT')
    expect(statusAndBody(await get(`cursor=${cursor}`))).toEqual(refused)
  })
})
