import { z } from 'zod'
import { Amount, type WithDecimals } from '../pages/money.ts'
import { merchantPath } from '../pages/paths.ts'
import { Pricing } from './merchant-fees.ts'

/** A merchant as payments shows it (payments reference: Merchant object). */
const Merchant = z.looseObject({
  id: z.string(),
  key: z.string(),
  name: z.string().optional(),
  currency: z.string(),
  test: z.boolean(),
  email: z.string(),
  website: z.string(),
  descriptor: z.string(),
  company: z.looseObject({ country: z.string(), number: z.string().optional() }),
  bank: z.looseObject({ iban: z.string().optional(), holder: z.string().optional() }).optional(),
  created: z.string(),
  balance: Amount,
  claim: z.record(z.string(), z.boolean()),
  pricing: Pricing,
  tds: z.looseObject({ mode: z.string() }),
})
/** A merchant of payments. */
export type Merchant = z.infer<typeof Merchant>

const App = z.looseObject({ id: z.string(), name: z.string().optional(), added: z.string().optional() })
const Member = z.looseObject({ email: z.string().optional(), id: z.string().optional() })
const Webhook = z.looseObject({ id: z.string(), url: z.string() })

/** A page of merchants. */
export const MerchantsView = z.object({ merchants: z.array(Merchant) })

/** A merchant with its balance, apps, users and webhooks (console reference: Routes of payments). */
export const MerchantView = z.object({
  merchant: Merchant,
  available: Amount,
  reserve: Amount,
  acquirer: z.string().optional(),
  apps: z.array(App),
  users: z.array(Member),
  webhooks: z.array(Webhook),
})
/** A merchant with its balance and all else, and the decimals of the currencies of its amounts. */
export type ShownMerchant = WithDecimals<z.infer<typeof MerchantView>>

/** The path of the lines of a merchant. */
export function linesPath(merchantId: string): string {
  return `${merchantPath(merchantId)}/lines`
}

/** The address of a list, with the rows of one merchant alone. */
export function listOf(path: string, merchantId: string): string {
  return `${path}?merchant=${encodeURIComponent(merchantId)}`
}
