import { describe, expect, it } from 'vitest'
import { completeScenario, type ScenarioChanges } from '../cards/scenario.ts'
import { comparedCurrencies, createSimulator, simulate, simulatedRef } from './simulator.ts'

const attempt = '0123456789abcdef01234567'
const declined = (statusCode: string) => ({ verdict: 'declined', statusCode })
const approved = { verdict: 'approved', ref: simulatedRef(attempt), networkRef: null }
const eur = (amount: number) => ({ currency: 'EUR', amount })

function pay(changes: ScenarioChanges, initiator: 'customer' | 'merchant' = 'customer', amount = 1_000n) {
  return simulate({ scenario: completeScenario(changes), initiator, idempotencyRef: attempt }, () => amount)
}

describe('simulate', () => {
  it.each<[ScenarioChanges, string]>([
    [{ scheme: 'unsupported' }, 'PAYMENT_CARD_SCHEME_UNSUPPORTED'],
    [{ scheme: 'unknown' }, 'PAYMENT_CARD_SCHEME_UNKNOWN'],
    [{ status: 'invalid' }, 'PAYMENT_CARD_NUMBER_INVALID'],
    [{ status: 'expired' }, 'PAYMENT_CARD_EXPIRED'],
    [{ status: 'disabled' }, 'PAYMENT_CARD_DISABLED'],
    [{ status: 'lost' }, 'PAYMENT_CARD_LOST'],
    [{ limit: eur(999) }, 'PAYMENT_AMOUNT_LIMIT'],
    [{ balance: eur(999) }, 'PAYMENT_INSUFFICIENT_FUNDS'],
    [{ balance: eur(0) }, 'PAYMENT_INSUFFICIENT_FUNDS'],
    [{ refusal: 'PAYMENT_REJECTED' }, 'PAYMENT_REJECTED'],
  ])('declines %j, whoever pays', (changes, statusCode) => {
    expect(pay(changes, 'customer')).toEqual(declined(statusCode))
    expect(pay(changes, 'merchant')).toEqual(declined(statusCode))
  })

  it('approves an amount within limit and balance', () => {
    expect(pay({ limit: eur(1_000), balance: eur(1_000) })).toEqual(approved)
    expect(pay({})).toEqual(approved)
  })

  it('judges the security code for customers only, and later refusals for merchants only', () => {
    expect(pay({ code: 'invalid' }, 'customer')).toEqual(declined('PAYMENT_CARD_SECURITY_CODE_INVALID'))
    expect(pay({ code: 'invalid' }, 'merchant')).toEqual(approved)
    const later = { laterRefusal: 'PAYMENT_CARD_LOST' }
    expect(pay(later, 'customer')).toEqual(approved)
    expect(pay(later, 'merchant')).toEqual(declined('PAYMENT_CARD_LOST'))
  })

  it('refuses in the order scheme, status, code, limit, balance', () => {
    const all = { scheme: 'unknown', status: 'lost', code: 'invalid', limit: eur(1), balance: eur(1) } as const
    const { scheme, ...afterScheme } = all
    const { status, ...afterStatus } = afterScheme
    const { code, ...afterCode } = afterStatus
    const { limit, ...afterLimit } = afterCode
    expect([all, afterScheme, afterStatus, afterCode, afterLimit].map((changes) => pay(changes))).toEqual(
      [
        'PAYMENT_CARD_SCHEME_UNKNOWN',
        'PAYMENT_CARD_LOST',
        'PAYMENT_CARD_SECURITY_CODE_INVALID',
        'PAYMENT_AMOUNT_LIMIT',
        'PAYMENT_INSUFFICIENT_FUNDS',
      ].map(declined),
    )
  })

  it('compares in the currencies of limit and balance', () => {
    const scenario = completeScenario({ limit: { currency: 'DKK', amount: 7_456 }, balance: eur(1_000) })
    expect(comparedCurrencies(scenario, 'EUR')).toEqual(['DKK'])
    const amounts = (dkk: bigint) => (currency: string) => (currency === 'DKK' ? dkk : 1_000n)
    const payment = { scenario, initiator: 'customer', idempotencyRef: attempt } as const
    expect(simulate(payment, amounts(7_456n))).toEqual(approved)
    expect(simulate(payment, amounts(7_457n))).toEqual(declined('PAYMENT_AMOUNT_LIMIT'))
  })

  it('gives an operation the same reference each time', () => {
    expect(simulatedRef(attempt)).toBe('sim_8865fea8edb697169ac2b4f5')
  })
})

describe('createSimulator', () => {
  const request = {
    idempotencyRef: attempt,
    merchantId: '0123456789abcdef89abcdef',
    money: eur(1_000),
    descriptor: 'Coffee & John',
    card: { number: unopened, code: null, expiry: '2066-08-31', scheme: 'visa' },
    initiator: 'merchant',
    planned: false,
    networkRef: null,
  } as const

  function unopened(): never {
    throw new Error('the simulator needs no card number')
  }

  it('waits for the delay of the scenario, and converts only for limits in another currency', async () => {
    const waited: number[] = []
    const converted: unknown[] = []
    const simulator = createSimulator({
      wait: async (ms) => void waited.push(ms),
      convert: async (...amounts) => {
        converted.push(amounts)
        return 7_456n
      },
    })
    const slow = completeScenario({ delaySeconds: 3, limit: { currency: 'DKK', amount: 7_455 }, balance: eur(1) })
    expect(await simulator.authorize({ ...request, scenario: slow })).toEqual(declined('PAYMENT_AMOUNT_LIMIT'))
    expect(waited).toEqual([3_000])
    expect(converted).toEqual([[eur(1_000), 'DKK']])
    expect(await simulator.authorize({ ...request, scenario: completeScenario({}) })).toEqual(approved)
    expect([waited.length, converted.length]).toEqual([1, 1])
  })
})
