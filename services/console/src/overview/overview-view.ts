import { z } from 'zod'
import { Amount, type WithDecimals } from '../pages/money.ts'
import { enveloped } from '../service-calls/inventory-answer.ts'

/** Whether merchants take payments of customers or try out the service. */
export type MerchantMode = 'live' | 'test'

/** The health of each part that a service depends on: `ok`, or a short text of what is wrong. */
const Health = z.record(z.string(), z.string())
type Health = z.infer<typeof Health>

/** The overview of a service: counts and health, or its health alone while its database does not answer. */
export type Told<T> =
  | { readonly kind: 'seen'; readonly value: T }
  | { readonly kind: 'uncounted'; readonly health: Health }

/** Reads what a service tells. */
function toldOf<T>(counts: z.ZodType<T>): z.ZodType<Told<T>> {
  return z.union([
    counts.transform((value) => ({ kind: 'seen', value }) as const),
    z.strictObject({ health: Health }).transform(({ health }) => ({ kind: 'uncounted', health }) as const),
  ])
}

/** The overview of auth (console reference: Overview of auth). */
const AuthCounts = z.looseObject({
  users: z.looseObject({ total: z.int(), confirmed: z.int(), banned: z.int() }),
  days: z.array(z.looseObject({ date: z.string(), sign_ups: z.int(), sign_ins: z.int() })),
  messages: z.looseObject({ waiting: z.int(), failed: z.int() }),
  health: Health,
})
/** The counts and the health of auth. */
export type AuthOverview = z.infer<typeof AuthCounts>
/** The overview of auth. */
export const ToldByAuth: z.ZodType<Told<AuthOverview>> = toldOf(AuthCounts)

/** The overview of payments (console reference: Overview of payments). Amounts are in minor units. */
const PaymentsCounts = z.looseObject({
  days: z.array(
    z.looseObject({ date: z.string(), currency: z.string(), volume: Amount, captures: z.int(), declines: z.int() }),
  ),
  openDisputes: z.int(),
  payoutsDue: z.array(z.looseObject({ currency: z.string(), amount: Amount, merchants: z.int() })),
  openExceptions: z.int(),
  unknownAttempts: z.int(),
  failedDeliveries: z.int(),
  deadJobs: z.array(z.looseObject({ task: z.string(), count: z.int() })),
  health: Health,
})
/** The counts and the health of payments. */
export type PaymentsOverview = z.infer<typeof PaymentsCounts>
/** The overview of payments. */
export const ToldByPayments: z.ZodType<Told<PaymentsOverview>> = toldOf(PaymentsCounts)

const InventoryCounts = z.looseObject({
  products: z.int(),
  locations: z.int(),
  lowStock: z.int(),
  openReservations: z.int(),
  health: Health,
})
/** The overview of inventory (console reference: Routes of inventory). */
export type InventoryOverview = z.infer<typeof InventoryCounts>
/** The overview of inventory, in its envelope. */
export const ToldByInventory: z.ZodType<Told<InventoryOverview>> = enveloped(toldOf(InventoryCounts))

/** The overview of a service, or why there is none: it does not answer, it has no such route, or the message of another error. */
export type Seen<T> =
  | Told<T>
  | { readonly kind: 'away' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly message: string }

/** The overviews of the services. Undefined: the service is not set up. */
export interface Overviews {
  readonly auth: Seen<AuthOverview> | undefined
  readonly payments: Seen<WithDecimals<PaymentsOverview>> | undefined
  readonly inventory: Seen<InventoryOverview> | undefined
}
