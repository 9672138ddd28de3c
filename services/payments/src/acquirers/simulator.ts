import type { Money } from '../merchants/merchant.ts'
import type { Acquirer } from './acquirer.ts'
import { comparedCurrencies, simulate } from './simulate.ts'

/** What the simulator needs of the outside. */
export interface SimulatorDeps {
  /** Minor units of an amount in another currency at today's rate; undefined when either has none. */
  readonly convert: (money: Money, currency: string) => Promise<bigint | undefined>
  /** Resolves after so many milliseconds. */
  readonly wait: (ms: number) => Promise<void>
}

/**
 * The acquirer of test merchants, in this process: what it answers is settled by the card's scenario alone, so that it needs
 * no memory. Nothing that it was asked is ever unknown to it, and it accepts every task.
 */
export function createSimulator({ convert, wait }: SimulatorDeps): Acquirer {
  return {
    authorize: async (request) => {
      const { scenario, money } = request
      if (scenario.delaySeconds > 0) await wait(scenario.delaySeconds * 1_000)
      const amounts = new Map([[money.currency, BigInt(money.amount)]])
      for (const currency of comparedCurrencies(scenario, money.currency)) {
        const amount = await convert(money, currency)
        if (amount !== undefined) amounts.set(currency, amount)
      }
      // A bound in a currency without a rate cannot be compared, so it bounds nothing.
      return simulate(request, (currency) => amounts.get(currency) ?? 0n)
    },
    inquire: async () => ({ verdict: 'declined', statusCode: 'PAYMENT_METHOD_ERROR' }),
    reverse: async () => ({ verdict: 'accepted' }),
    submit: async () => ({ verdict: 'accepted' }),
    events: async () => ({ events: [], unnamed: 0 }),
    acknowledge: async () => {},
  }
}
