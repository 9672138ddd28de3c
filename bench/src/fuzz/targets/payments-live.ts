import { randomUUID } from 'node:crypto'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { z } from 'zod'
import { payOrder } from '../../drills/canaries/orders.ts'
import type { World } from '../target.ts'
import type { OperatorHeaders } from './operators.ts'
import { basic, CODE, clientOf, SHOP } from './payments-shop.ts'

const ACQUIRER = 'fuzz'
export const ACQUIRER_SECRET = 'canary-secret-of-the-acquirer'
/** A live card. No log and no answer may contain its number. */
export const LIVE_PAN = '4242424242424242'
/** A card for which the acquirer never reports the outcome of an authorization. */
const LOST_PAN = '4000000000000002'
const ACTOR = 0

const Asked = z.object({ kind: z.string().optional(), card: z.object({ number: z.string() }).optional() })
const NewApp = z.object({ app: z.object({ key: z.string() }) })
const NewMerchant = z.object({ merchant: z.object({ id: z.string(), key: z.string() }) })
const Exceptions = z.object({ exceptions: z.array(z.object({ merchantId: z.string(), id: z.string() })) })

export interface LiveMerchant {
  readonly id: string
  readonly key: string
}

/**
 * Starts an acquirer that accepts only captures. Each other refused call becomes an exception.
 * @returns the settings of payments
 */
export async function startAcquirer(stack: AsyncDisposableStack): Promise<Readonly<Record<string, string>>> {
  let count = 0
  const peer = await startStubProvider(({ method, url, body }) => {
    const asked = body === '' ? {} : Asked.parse(JSON.parse(body))
    if (url.startsWith('/events')) return { body: [] }
    if (url === '/operations') {
      return { body: asked.kind === 'capture' ? { verdict: 'accepted' } : { verdict: 'rejected', reason: 'closed' } }
    }
    if (url.endsWith('/reversals')) return { body: { verdict: 'accepted' } }
    if (method === 'GET' || asked.card?.number === LOST_PAN) return { body: { verdict: 'unknown' } }
    count += 1
    return { body: { verdict: 'approved', ref: `ref-${count}`, networkRef: `network-${count}` } }
  })
  stack.defer(peer.close)
  return {
    PAYMENTS_ACQUIRERS: `${ACQUIRER}=${peer.url.replace('//', `//:${ACQUIRER_SECRET}@`)}`,
    PAYMENTS_PAYOUT_DELAY_DAYS: '0',
  }
}

/** Creates a live merchant. Bank files need new merchants, because each merchant is paid out only once a day. */
export async function openLiveMerchant({ ask, deployment }: World): Promise<LiveMerchant> {
  const post = (target: string, body: object, headers = {}) =>
    ask({ actor: ACTOR, method: 'POST', target, body, headers })
  const { app } = NewApp.parse(await post('/apps', { name: 'Live' }))
  const body = { ...SHOP, test: false, name: 'Live shop' }
  const { merchant } = NewMerchant.parse(await post('/merchants', body, basic(app.key)))
  await deployment.runCommand('merchants', 'acquirer', merchant.id, ACQUIRER)
  return merchant
}

/** Pays out a live merchant, and adds a payment with an exception and an attempt with an unknown outcome. */
export async function sellLive(
  { ask, memory }: World,
  { id, key }: LiveMerchant,
  operator: OperatorHeaders,
): Promise<void> {
  const operate = (method: 'GET' | 'POST', path: string, body?: object) => {
    const headers = { ...operator, 'idempotency-key': randomUUID() }
    return ask({ actor: ACTOR, method, target: `/operator${path}`, headers, ...(body && { body }) })
  }
  await operate('POST', '/payouts/run', { merchant: id })
  const client = clientOf(ask, ACTOR)
  await payOrder(client, { key, card: { number: LOST_PAN, code: CODE }, test: undefined })
  await payOrder(client, { key, card: { number: LIVE_PAN, code: CODE }, test: undefined })
  const transactionId = memory.pick(ACTOR, 'transactionId', 1)
  await operate('POST', `/transactions/${transactionId}/captures`, { amount: 700 })
  await operate('POST', `/transactions/${transactionId}/refunds`, { amount: 100 })
  await operate('GET', '/attempts?limit=5')
  const { exceptions } = Exceptions.parse(await operate('GET', `/exceptions?merchant=${id}`))
  for (const { merchantId, id: exceptionId } of exceptions) memory.keep(ACTOR, 'exception', { merchantId, exceptionId })
}
