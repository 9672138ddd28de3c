import { createHash } from 'node:crypto'
import type { Scenario } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'
import type { Acquirer, AuthorizationOutcome, AuthorizationRequest } from './acquirer.ts'

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

/** Minor units of an amount in another currency. */
export type AmountIn = (currency: string) => bigint

const SCHEME_REFUSALS = {
  supported: undefined,
  unsupported: 'PAYMENT_CARD_SCHEME_UNSUPPORTED',
  unknown: 'PAYMENT_CARD_SCHEME_UNKNOWN',
} as const
const STATUS_REFUSALS = {
  valid: undefined,
  invalid: 'PAYMENT_CARD_NUMBER_INVALID',
  expired: 'PAYMENT_CARD_EXPIRED',
  disabled: 'PAYMENT_CARD_DISABLED',
  lost: 'PAYMENT_CARD_LOST',
} as const

/**
 * The status code with which the card itself is refused, before anyone is authenticated: scheme, status, then the security
 * code, which only a customer gives (reference: Test object).
 */
export function cardRefusal(
  { scheme, status, code, refusal, laterRefusal }: Scenario,
  initiator: AuthorizationRequest['initiator'],
): string | undefined {
  const ofCard = SCHEME_REFUSALS[scheme] ?? STATUS_REFUSALS[status]
  if (ofCard !== undefined) return ofCard
  if (initiator === 'customer' && code === 'invalid') return 'PAYMENT_CARD_SECURITY_CODE_INVALID'
  return refusal ?? (initiator === 'merchant' ? laterRefusal : null) ?? undefined
}

/** The status code with which an amount is refused on a good card: limit, then balance. Each payment is judged by itself. */
function amountRefusal({ limit, balance }: Scenario, amountIn: AmountIn): string | undefined {
  const exceeds = (bound: Money | null) => bound !== null && amountIn(bound.currency) > BigInt(bound.amount)
  if (exceeds(limit)) return 'PAYMENT_AMOUNT_LIMIT'
  return exceeds(balance) ? 'PAYMENT_INSUFFICIENT_FUNDS' : undefined
}

/** Currencies that an amount is compared in, other than its own. */
export function comparedCurrencies({ limit, balance }: Scenario, own: string): readonly string[] {
  const bounds = [limit, balance].flatMap((bound) => (bound === null ? [] : [bound.currency]))
  return [...new Set(bounds)].filter((currency) => currency !== own)
}

/** The simulator's answer to an authorization (reference: Simulator). */
export function simulate(
  { scenario, initiator, idempotencyRef }: Pick<AuthorizationRequest, 'scenario' | 'initiator' | 'idempotencyRef'>,
  amountIn: AmountIn,
): AuthorizationOutcome {
  const statusCode = cardRefusal(scenario, initiator) ?? amountRefusal(scenario, amountIn)
  if (statusCode !== undefined) return { verdict: 'declined', statusCode }
  return { verdict: 'approved', ref: simulatedRef(idempotencyRef), networkRef: null }
}

/** The simulator derives its reference from the id of the operation (reference: References of the simulator). */
export function simulatedRef(operationId: string): string {
  return `sim_${createHash('sha256').update(operationId).digest('hex').slice(0, 24)}`
}
