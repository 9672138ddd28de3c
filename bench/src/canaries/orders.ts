import { z } from 'zod'
import type { Visitor } from './visitor.ts'

/** A card as a customer holds it. */
export interface CustomerCard {
  readonly number: string
  readonly code: string
}

/** What a customer orders of a test merchant. */
export interface Order {
  /** The merchant's public key. */
  readonly key: string
  readonly card: CustomerCard
  /** How the simulator is to behave. */
  readonly test: object
}

const VERSION = { 'accept-version': '1' }
const STEPS_MAX = 12

const Token = z.object({ token: z.string() })
const Answer = z.object({
  challenges: z.array(z.object({ type: z.string(), path: z.string() })).default([]),
  authorizationId: z.string().optional(),
})
const Task = z.object({
  hints: z.array(z.string()),
  url: z.string().optional(),
  fields: z.record(z.string(), z.string()).optional(),
})

/** Tokenises, orders, and takes every challenge by the first way that is offered. True when the order was paid. */
export async function payOrder(visitor: Pick<Visitor, 'ask'>, { key, card, test }: Order): Promise<boolean> {
  const post = async (path: string, body: object) => JSON.parse(String(await visitor.ask('POST', path, body, VERSION)))
  const tokenize = async (type: string, value: string) => Token.parse(await post('/vault', { type, value }))
  const order = {
    ...{ integration: { key }, test, amount: { currency: 'EUR', exponent: 2, value: 1_000 } },
    card: {
      number: await tokenize('pcn', card.number),
      code: await tokenize('pcsc', card.code),
      expiry: { month: 12, year: 2066 },
    },
  }
  const hints: string[] = []
  for (let step = 0; step < STEPS_MAX; step++) {
    const { challenges, authorizationId } = Answer.parse(await post('/payments', { ...order, hints }))
    const [challenge] = challenges
    if (!challenge) return authorizationId !== undefined
    const task = Task.parse(await post(challenge.path, { ...order, hints }))
    hints.push(...task.hints, ...(await showPage(visitor, task)))
  }
  throw new Error('the challenges of an order do not end')
}

/** Approves on the page of a task, where it has one, and reads what the page tells the shop. */
async function showPage(
  visitor: Pick<Visitor, 'ask'>,
  { url, fields }: z.infer<typeof Task>,
): Promise<readonly string[]> {
  if (url === undefined || fields === undefined) return []
  const page = String(await visitor.ask('POST', new URL(url).pathname, { ...fields, decision: 'approve' }))
  const told = /data-hints="([^"]*)"/.exec(page)?.[1] ?? '[]'
  return z.array(z.string()).parse(JSON.parse(told.replaceAll('&quot;', '"')))
}
