import { z } from 'zod'
import type { Merchant } from './merchant.ts'
import { PricingView, viewPricing } from './pricing.ts'

/** The JSON of a merchant, the same in lists and alone (reference: Merchant object). */
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

/** Makes the JSON of a merchant. JSON leaves out undefined fields. */
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
    // Exact up to 2^53 (reference: Money). A live merchant stays far below that.
    balance: Number(merchant.balance),
    claim: { canChargeCard, canSaveCard, canTransferToCard, canCapture, canRefund, canVoid },
    pricing: viewPricing(merchant.pricing),
    tds: { mode: merchant.tdsMode },
  }
}
