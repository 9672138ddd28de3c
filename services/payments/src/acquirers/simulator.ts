import { createHash } from 'node:crypto'
import type { Scenario } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'
import type { Acquirer, AuthorizationOutcome, AuthorizationRequest } from './acquirer.ts'

/** The exchange rates by which the simulator compares an amount with limits, and the clock that it waits by. */
export interface SimulatorDeps {
  /** Converts an amount at today's rate, into minor units; undefined when a currency has no rate. */
  readonly convert: (money: Money, currency: string) => Promise<bigint | undefined>
  readonly wait: (ms: number) => Promise<void>
}

/**
 * The acquirer of test merchants, in this process. Its answers depend on the scenario of the card alone, so it stores nothing.
 * It knows the outcome of every authorization, and accepts every task.
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
      // An amount cannot be compared with a limit in a currency without a rate, so such a limit does not apply.
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
 * The status code that refuses the card itself, before 3-D Secure: for its scheme, its status, then its security code, which
 * only a customer types (reference: Test object). Undefined for a card that is not refused.
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

/** The status code that refuses an amount: for the limit, then the balance. Each payment is judged by itself. */
function amountRefusal({ limit, balance }: Scenario, amountIn: AmountIn): string | undefined {
  const exceeds = (bound: Money | null) => bound !== null && amountIn(bound.currency) > BigInt(bound.amount)
  if (exceeds(limit)) return 'PAYMENT_AMOUNT_LIMIT'
  return exceeds(balance) ? 'PAYMENT_INSUFFICIENT_FUNDS' : undefined
}

/** The currencies, beside the currency of the amount, in which an amount is compared with the limit and the balance of a card. */
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

/** The reference of the simulator, derived from the id of the operation (reference: References of the simulator). */
export function simulatedRef(operationId: string): string {
  return `sim_${createHash('sha256').update(operationId).digest('hex').slice(0, 24)}`
}
