/** An amount of a charge that is captured, refunded or voided, in minor units. */
export type DemoOperation =
  | { readonly path: 'captures'; readonly amount: number }
  | { readonly path: 'refunds'; readonly amount: number }
  | { readonly path: 'voids'; readonly amount: number }

/** A payment of a customer in the past, and what the shop made of it. `amount` is in minor units of `currency`. */
export interface DemoPayment {
  /** Days before the demo was made. */
  readonly daysAgo: number
  readonly amount: number
  readonly currency: string
  readonly card: string
  readonly operations: readonly DemoOperation[]
  readonly dispute?: { readonly reason: number; readonly outcome?: 'won' | 'lost' }
  /** The reason of a fraud alert. */
  readonly fraud?: number
}

const VISA = '1000000000010000'
const MASTERCARD = '2000000000000000'
/** A card that the simulator refuses for lack of money when the shop charges it again. */
const EMPTY_CARD = '1000000000090007'

type Extra = Partial<Pick<DemoPayment, 'currency' | 'card' | 'dispute' | 'fraud'>>

const payment = (
  daysAgo: number,
  amount: number,
  operations: readonly DemoOperation[],
  extra: Extra = {},
): DemoPayment => ({ daysAgo, amount, operations, currency: 'EUR', card: VISA, ...extra })

const capture = (amount: number): DemoOperation => ({ path: 'captures', amount })
const refund = (amount: number): DemoOperation => ({ path: 'refunds', amount })
const voided = (amount: number): DemoOperation => ({ path: 'voids', amount })
const paid = (daysAgo: number, amount: number, extra: Extra = {}) => payment(daysAgo, amount, [capture(amount)], extra)

/** The payments in groups, the oldest first. A payout follows each group. */
export const demoPayments: readonly (readonly DemoPayment[])[] = [
  [
    paid(35, 4_250),
    paid(34, 1_250, { card: MASTERCARD }),
    paid(33, 8_900, { dispute: { reason: 131, outcome: 'won' } }),
    payment(32, 3_600, [capture(3_600), refund(3_600)]),
    paid(31, 12_400, { currency: 'DKK' }),
    paid(29, 2_150),
    payment(28, 5_000, [voided(5_000)], { card: MASTERCARD }),
    paid(27, 6_475),
    paid(26, 1_250, { card: EMPTY_CARD }),
  ],
  [
    paid(24, 7_300, { card: MASTERCARD }),
    payment(22, 9_900, [capture(6_600), voided(3_300)]),
    paid(21, 15_000, { dispute: { reason: 133, outcome: 'lost' } }),
    paid(20, 3_995, { currency: 'USD' }),
    payment(18, 4_800, [capture(4_800), refund(1_600)]),
    paid(17, 1_250),
    paid(16, 2_500, { card: MASTERCARD }),
    paid(15, 11_200, { fraud: 6 }),
  ],
  [
    paid(13, 5_450),
    paid(11, 32_900, { currency: 'SEK', card: MASTERCARD }),
    payment(10, 7_800, [capture(2_600), capture(5_200), refund(2_600)]),
    paid(8, 8_400, { dispute: { reason: 4853 } }),
    paid(6, 1_250),
    paid(5, 2_750, { card: MASTERCARD }),
    paid(3, 6_100),
    paid(2, 3_600),
    payment(1, 4_150, []),
    payment(0.4, 12_500, [], { card: MASTERCARD }),
    payment(0.1, 1_250, []),
  ],
]

/** A charge by the shop itself, of a card that a customer has paid with. `amount` is in minor units. */
export interface DemoRenewal {
  readonly reference: string
  readonly amount: number
  /** The number of the card that is charged. */
  readonly card: string
}

/** Monthly deliveries. The second one is declined. */
export const demoRenewals: readonly DemoRenewal[] = [
  { reference: 'subscription-1001', amount: 1_250, card: MASTERCARD },
  { reference: 'subscription-1002', amount: 1_250, card: EMPTY_CARD },
]
