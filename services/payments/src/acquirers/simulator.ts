import { createHash } from 'node:crypto'
import type { Scenario } from '../cards/scenario.ts'
import type { Money } from '../money/minor-units.ts'
import type { Acquirer, AuthorizationOutcome, AuthorizationRequest } from './acquirer.ts'

/** The dependencies of the simulator: the exchange rates for comparing an amount with limits, and the clock for delays. */
export interface SimulatorDeps {
  /** Converts an amount to minor units of a currency at today's rate. Resolves to `undefined` if a currency has no rate. */
  readonly convert: (money: Money, currency: string) => Promise<bigint | undefined>
  readonly wait: (ms: number) => Promise<void>
}

/**
 * Creates the acquirer of test merchants, which runs in this process. It stores nothing, because its answers depend only on the
 * scenario of the card. It knows the outcome of every authorization and accepts every task.
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
      // If a currency has no rate, the amount cannot be compared with a limit in that currency. Such a limit does not apply.
      return simulate(request, (currency) => amounts.get(currency) ?? 0n)
    },
    inquire: async () => ({ verdict: 'declined', statusCode: 'PAYMENT_METHOD_ERROR' }),
    reverse: async () => ({ verdict: 'accepted' }),
    submit: async () => ({ verdict: 'accepted' }),
    events: async () => ({ events: [], unnamed: 0 }),
    acknowledge: async () => {},
  }
}

/** Converts the amount of the payment to minor units of a currency. */
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
 * Returns the status code that refuses the card itself, before 3-D Secure. The checks are, in order: scheme, card status,
 * security code. Only a customer types a security code (reference: Test object). Returns `undefined` if the card is not refused.
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

/** The status code for a refused amount: first the limit, then the balance. Earlier payments do not reduce either. */
function amountRefusal({ limit, balance }: Scenario, amountIn: AmountIn): string | undefined {
  const exceeds = (bound: Money | null) => bound !== null && amountIn(bound.currency) > BigInt(bound.amount)
  if (exceeds(limit)) return 'PAYMENT_AMOUNT_LIMIT'
  return exceeds(balance) ? 'PAYMENT_INSUFFICIENT_FUNDS' : undefined
}

/** Returns the currencies of the card's limit and balance that differ from the currency of the amount. */
export function comparedCurrencies({ limit, balance }: Scenario, own: string): readonly string[] {
  const bounds = [limit, balance].flatMap((bound) => (bound === null ? [] : [bound.currency]))
  return [...new Set(bounds)].filter((currency) => currency !== own)
}

/** Returns the simulator's answer to an authorization (reference: Simulator). */
export function simulate(
  { scenario, initiator, idempotencyRef }: Pick<AuthorizationRequest, 'scenario' | 'initiator' | 'idempotencyRef'>,
  amountIn: AmountIn,
): AuthorizationOutcome {
  const statusCode = cardRefusal(scenario, initiator) ?? amountRefusal(scenario, amountIn)
  if (statusCode !== undefined) return { verdict: 'declined', statusCode }
  return { verdict: 'approved', ref: simulatedRef(idempotencyRef), networkRef: null }
}

/** The reference of the simulator, which is derived from the id of the operation (reference: References of the simulator). */
export function simulatedRef(operationId: string): string {
  return `sim_${createHash('sha256').update(operationId).digest('hex').slice(0, 24)}`
}
