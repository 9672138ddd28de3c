import { sql } from 'kysely'
import { insertAttempt } from '../attempts.ts'
import { customerPayment } from '../customer-payment.ts'
import { actorOf, operatorHeaders } from '../operators.ts'
import { createTestApp } from '../payments-app.ts'
import { type Answer, callAs, type RuleCase } from './rule-cases.ts'
import { buildBroken, changedBatch, NO_ID, type World } from './world.ts'

/** Requests a refund of EUR 0.02 as support, with this limit for one refund and for a day. */
async function refundAsSupport(
  world: World,
  limit: ReadonlyMap<string, number>,
  transaction = world.ids.transaction,
): Promise<Answer> {
  const app = await buildBroken(world, {
    config: { ...world.payments.deps.config, refundLimits: { once: limit, daily: limit } },
  })
  const url = `/operator/transactions/${transaction}/refunds`
  const headers = { 'idempotency-key': `refund-of-${transaction}-by-${actorOf('support').id}` }
  const request = { method: 'POST', url, headers, payload: { amount: 2 } } as const
  const answer = await callAs({ payments: { ...world.payments, app } }, operatorHeaders('support'), request)
  await app.close()
  return answer
}

/** Creates a captured payment, and refunds it until its trail has 100 entries. Returns its id. */
async function payWithLongTrail(world: World): Promise<string> {
  const transaction = await customerPayment(world.payments, world.merchant.id)
  const send = (below: string, amount: number) =>
    callAs(world, world.owner.headers, {
      method: 'POST',
      url: `/transactions/${transaction}/${below}`,
      payload: { amount },
    })
  await send('captures', 300)
  for (let entries = 1; entries < 60; entries++) await send('refunds', 1)
  return transaction
}

/** Sends a change as an admin. */
function changeAsAdmin(world: World, url: string, payload: object): Promise<Answer> {
  const headers = { 'idempotency-key': `${url} ${JSON.stringify(payload)}`.replaceAll(' ', '-') }
  return callAs(world, operatorHeaders('admin'), { method: 'POST', url: `/operator${url}`, headers, payload })
}

/** Resolves an attempt at an unknown acquirer. */
async function resolveAttemptOf(world: World, state: 'unknown' | 'declined'): Promise<Answer> {
  const id = await insertAttempt(world.payments, { merchantId: world.merchant.id, state, acquirer: 'nobody' })
  return changeAsAdmin(world, `/attempts/${id}/outcome`, { outcome: 'approved' })
}

/** Adds a delivery without its webhook and event. Returns its id. */
async function insertStrayDelivery({ payments, merchant }: World): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    INSERT INTO ${sql.id(payments.deps.names.jobSchema, 'job')} (name, data)
    VALUES ('webhook_delivery', ${{ merchantId: merchant.id, webhookId: NO_ID, eventId: NO_ID }}) RETURNING id`.execute(
    payments.database.db,
  )
  return rows[0]?.id ?? ''
}

/** The cases of each error of operators, by its name in `operator-errors.ts`. */
export const operatorRuleCases: Readonly<Record<string, readonly RuleCase[]>> = {
  payoutClosed: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The payout has the other outcome' },
      raise: (world) => changeAsAdmin(world, `/payouts/${world.ids.payout}/outcome`, { outcome: 'failed' }),
    },
  ],
  batchChanged: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The bank has answered about the batch, or it was changed' },
      raise: async (world) =>
        callAs(world, operatorHeaders('admin'), { method: 'GET', url: await changedBatch(world) }),
    },
  ],
  deliveryObsolete: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The webhook of the delivery is deleted, or its event is too old' },
      raise: async (world) => changeAsAdmin(world, `/deliveries/${await insertStrayDelivery(world)}/replay`, {}),
    },
  ],
  attemptSettled: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The outcome of the attempt is known' },
      raise: (world) => resolveAttemptOf(world, 'declined'),
    },
  ],
  notTakenBack: [
    {
      status: 409,
      body: { code: 'CONFLICT', message: 'The acquirer did not take the reversal' },
      raise: (world) => resolveAttemptOf(world, 'unknown'),
    },
  ],
  refundNotAllowed: [
    {
      status: 403,
      body: { code: 'REFUND_NOT_ALLOWED', message: 'Support refunds in no such currency' },
      raise: (world) => refundAsSupport(world, new Map()),
    },
  ],
  refundLimitExceeded: [
    {
      status: 403,
      body: {
        code: 'REFUND_LIMIT_EXCEEDED',
        message: 'The refund is more than the operator may refund',
        limit: 1,
        left: 1,
      },
      raise: (world) => refundAsSupport(world, new Map([['EUR', 1]])),
    },
  ],
  trailReserved: [
    {
      status: 403,
      body: {
        code: 'TRAIL_RESERVED',
        message: 'Support refunds no transaction whose trail has 60 entries. An admin may',
      },
      raise: async (world) => refundAsSupport(world, new Map([['EUR', 100]]), await payWithLongTrail(world)),
    },
  ],
  idempotencyKeyReused: [
    {
      status: 409,
      body: { code: 'IDEMPOTENCY_KEY_REUSED', message: 'The Idempotency-Key was used for another request' },
      raise: async (world) => {
        const headers = { 'idempotency-key': 'reused' }
        const revoke = async () => {
          const { id } = await createTestApp(world.payments)
          const url = `/operator/apps/${id}/keys`
          return callAs(world, operatorHeaders('admin'), { method: 'DELETE', url, headers })
        }
        await revoke()
        return revoke()
      },
    },
  ],
}
