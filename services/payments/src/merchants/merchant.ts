import { z } from 'zod'
import { type Pricing, PricingView, viewPricing } from './pricing.ts'

/** The permissions of a merchant, each granted or not. */
export interface Claim {
  readonly canChargeCard: boolean
  readonly canSaveCard: boolean
  readonly canTransferToCard: boolean
  readonly canCapture: boolean
  readonly canRefund: boolean
  readonly canVoid: boolean
}

export interface Merchant {
  readonly id: string
  /** The public key of payment links and checkouts. It does not authenticate. */
  readonly key: string
  readonly name: string | null
  readonly currency: string
  readonly test: boolean
  readonly email: string
  readonly website: string
  readonly descriptor: string
  readonly country: string
  readonly companyNumber: string | null
  readonly iban: string | null
  /** The owner of the account `iban`. If it is `null`, the owner is the company `name`. */
  readonly holder: string | null
  readonly claim: Claim
  readonly pricing: Pricing
  readonly tdsMode: 'attempt' | 'full'
  /** The balance in minor units of `currency`. */
  readonly balance: bigint
  readonly created: Date
}

/** The values of a new merchant. The database adds the id, key, tag and time. */
export type NewMerchant = Pick<
  Merchant,
  | 'name'
  | 'currency'
  | 'test'
  | 'email'
  | 'website'
  | 'descriptor'
  | 'country'
  | 'companyNumber'
  | 'iban'
  | 'holder'
  | 'claim'
  | 'pricing'
>

/** The permissions of a new merchant. Transfers to cards are not offered. */
export const DEFAULT_CLAIM: Claim = {
  canChargeCard: true,
  canSaveCard: true,
  canTransferToCard: false,
  canCapture: true,
  canRefund: true,
  canVoid: true,
}

/** A change of a merchant. Absent fields stay as they are. `name: null` removes the name. */
export interface MerchantChanges {
  readonly name?: string | null | undefined
  readonly email?: string | undefined
  readonly descriptor?: string | undefined
}

/** The default values of a test merchant, for example one that `payments trigger` creates. */
export const TEST_MERCHANT = {
  name: 'Test shop',
  currency: 'EUR',
  email: 'merchant@example.com',
  website: 'https://example.com',
  descriptor: 'Test shop',
  country: 'DK',
  iban: 'DK5000400440116243',
} as const

/** The JSON of a merchant. It is the same in lists and in single answers (reference: Merchant object). */
export const MerchantView = z
  .object({
    id: z.string(),
    key: z.string(),
    name: z.string().optional(),
    currency: z.string(),
    test: z.boolean(),
    email: z.string(),
    website: z.string(),
    descriptor: z.string(),
    company: z.object({ country: z.string(), number: z.string().optional() }),
    bank: z.object({ iban: z.string().optional(), holder: z.string().optional() }).optional(),
    created: z.iso.datetime(),
    balance: z.int(),
    claim: z.object({
      canChargeCard: z.boolean(),
      canSaveCard: z.boolean(),
      canTransferToCard: z.boolean(),
      canCapture: z.boolean(),
      canRefund: z.boolean(),
      canVoid: z.boolean(),
    }),
    pricing: PricingView,
    tds: z.object({ mode: z.enum(['attempt', 'full']) }),
  })
  .meta({ id: 'Merchant' })

export function viewMerchant(merchant: Merchant): z.infer<typeof MerchantView> {
  const { id, key, name, currency, test, email, website, descriptor, country, companyNumber, iban, holder } = merchant
  const { canChargeCard, canSaveCard, canTransferToCard, canCapture, canRefund, canVoid } = merchant.claim
  return {
    id,
    key,
    name: name ?? undefined,
    currency,
    test,
    email,
    website,
    descriptor,
    company: { country, number: companyNumber ?? undefined },
    bank: iban === null && holder === null ? undefined : { iban: iban ?? undefined, holder: holder ?? undefined },
    created: merchant.created.toISOString(),
    // The conversion is exact up to 2^53 (reference: Money). The balance of a live merchant stays far below that.
    balance: Number(merchant.balance),
    claim: { canChargeCard, canSaveCard, canTransferToCard, canCapture, canRefund, canVoid },
    pricing: viewPricing(merchant.pricing),
    tds: { mode: merchant.tdsMode },
  }
}

/**
 * Returns the last eight digits of an id: the tag of its merchant. The id of a seeded object may belong to another merchant
 * (`id_aliases`).
 */
export function tagOf(id: string): string {
  return id.slice(-8)
}
