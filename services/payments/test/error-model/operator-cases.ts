import { actorOf, operatorHeaders } from '../operators.ts'
import { createTestApp } from '../payments-app.ts'
import { type Answer, callAs, type RuleCase } from './rule-cases.ts'
import { buildBroken, type World } from './world.ts'

/** Asks for a refund of EUR 0.02 as an operator with the role support, where one refund and a day may have this much. */
async function refundAsSupport(world: World, limit: ReadonlyMap<string, number>): Promise<Answer> {
  const app = await buildBroken(world, {
    config: { ...world.payments.deps.config, refundLimits: { once: limit, daily: limit } },
  })
  const url = `/operator/transactions/${world.ids.transaction}/refunds`
  const headers = { 'idempotency-key': `refund-of-${actorOf('support').id}` }
  const request = { method: 'POST', url, headers, payload: { amount: 2 } } as const
  const answer = await callAs({ payments: { ...world.payments, app } }, operatorHeaders('support'), request)
  await app.close()
  return answer
}

/** The ways to each error of operators, by its name in `operator-errors.ts`. */
export const operatorRuleCases: Readonly<Record<string, readonly RuleCase[]>> = {
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
  operatorKeyReused: [
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
