import request from '@paylike/request'
import { z } from 'zod'

/** A card as the customer typed it. */
export interface Card {
  readonly number: string
  readonly expiry: { readonly month: number; readonly year: number }
  readonly code: string
}

/** What the order says beside the card: key, amount, and whatever the shop wants to find again. */
export type Order = Readonly<Record<string, unknown>>

/** A page of the bank. Hidden pages look at the device, the others are for the customer. */
export interface BankPage {
  readonly action: string
  readonly fields: Readonly<Record<string, string>>
  readonly timeout: number
  readonly width?: number | undefined
  readonly height?: number | undefined
}

/** What the checkout needs from the page around it. */
export interface CheckoutOptions {
  /** Address of payments. */
  readonly url: string
  /** Shows a page of the bank, and returns the hints that the page sends. Empty if the page sends none in time. */
  readonly showPage: (page: BankPage, options: { readonly hidden: boolean }) => Promise<readonly string[]>
  /** Asks the customer to approve in another place, since no page can be shown. */
  readonly tellToApprove: () => void
}

const Token = z.object({ token: z.string() })
const Answer = z.union([
  z.object({ transactionId: z.string() }),
  z.object({ challenges: z.array(z.object({ type: z.string(), path: z.string() })).min(1) }),
])
const Task = z.object({
  hints: z.array(z.string()),
  action: z.string().default(''),
  fields: z.record(z.string(), z.string()).default({}),
  timeout: z.number().default(0),
  width: z.number().optional(),
  height: z.number().optional(),
  interval: z.number().default(2_000),
})
type Task = z.output<typeof Task>

const CHALLENGES_MAX = 20

/** Pays in the customer's browser. Only payments sees the card; the shop's server gets the id of the transaction. */
export function createCheckout({ url, showPage, tellToApprove }: CheckoutOptions) {
  const send = (path: string, data: object) =>
    request(url + path, { version: 1, data, fetch: fetch.bind(window) }).first()
  const tokenize = async (type: 'pcn' | 'pcsc', value: string) => Token.parse(await send('/vault', { type, value }))

  /** How to take each kind of challenge. The same order, sent to the path of the challenge, says what to do. */
  const ways: Readonly<Record<string, (ask: () => Promise<Task>) => Promise<readonly string[]>>> = {
    fetch: async (ask) => (await ask()).hints,
    'background-iframe': async (ask) => showPage(await ask(), { hidden: true }),
    iframe: async (ask) => showPage(await ask(), { hidden: false }),
    poll: async (ask) => {
      tellToApprove()
      for (;;) {
        const { hints, interval } = await ask()
        if (hints.length > 0) return hints
        await new Promise((resolve) => setTimeout(resolve, interval))
      }
    },
  }

  /** Pays the order. Returns the id of the transaction. @throws Error with the `code` of a refusal */
  return async (order: Order, { number, expiry, code }: Card): Promise<string> => {
    const [numberToken, codeToken] = await Promise.all([tokenize('pcn', number), tokenize('pcsc', code)])
    const paid = { ...order, card: { number: numberToken, expiry, code: codeToken } }
    const hints: string[] = []
    for (let taken = 0; taken < CHALLENGES_MAX; taken++) {
      const answer = Answer.parse(await send('/payments', { ...paid, hints }))
      if ('transactionId' in answer) return answer.transactionId
      // The service lists the best challenge first, and this page supports some of them.
      const challenge = answer.challenges.find(({ type }) => ways[type] !== undefined)
      const take = challenge && ways[challenge.type]
      if (!take) break
      hints.push(...(await take(async () => Task.parse(await send(challenge.path, { ...paid, hints })))))
    }
    throw new Error('the payment cannot be completed here')
  }
}
