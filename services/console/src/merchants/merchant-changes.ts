import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { advanceInvalid } from '../errors.ts'
import type { AskedCall, Changeable, GivenFields } from '../pages/asked-change.ts'
import { type Problem, textField } from '../pages/form.ts'
import { Amount, type WithDecimals } from '../pages/money.ts'
import { merchantPath } from '../pages/paths.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { currencyOf, feeFields, Pricing, pricingCall } from './merchant-fees.ts'

const Advanced = z.object({ clock: z.object({ now: z.string() }) })

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 24 * HOUR_SECONDS

const nameOf = ({ merchant }: ShownMerchant) => merchant.name ?? merchant.id
const callPath = ({ merchant }: ShownMerchant, below: string) =>
  `/operator/merchants/${encodeURIComponent(merchant.id)}/${below}`
const pricedOf = ({ merchant: { pricing }, decimals }: ShownMerchant) => ({ pricing, decimals })

export const merchantChanges: Changeable<ShownMerchant> = {
  service: 'payments',
  section: 'merchants',
  pathOf: ({ merchant }) => merchantPath(merchant.id),
  changes: [
    {
      name: 'pricing',
      action: 'merchants.price',
      label: 'Change fees',
      title: (shown) => `Change the fees of ${nameOf(shown)}`,
      consequences: (shown) => [
        `${nameOf(shown)} pays the new fees for later captures, refunds and lost disputes.`,
        'Earlier fees stay. Unchanged fields keep their values.',
        'The merchant gets an event.',
      ],
      fields: (shown, given, refusal) => feeFields(pricedOf(shown), given, refusal),
      reliesOn: ({ merchant: { pricing } }) => ({
        flat: currencyOf(pricing, 'flat'),
        dispute: currencyOf(pricing, 'dispute'),
      }),
      call: (shown, given) => pricingCall(callPath(shown, 'pricing'), pricedOf(shown), given),
      answer: answerWith('merchant'),
      done: 'The fees are changed',
    },
    {
      name: 'clock',
      action: 'merchants.advance-clock',
      label: 'Advance clock',
      title: (shown) => `Advance the clock of ${nameOf(shown)}`,
      isDangerous: true,
      isOffered: ({ merchant }) => merchant.test,
      consequences: () => [
        'Expiry of cards and authorizations, payouts and due dates of disputes follow the clock of this test merchant.',
        'Authorizations that have expired by the new time are voided at once.',
        'This cannot be undone: the clock never goes back.',
      ],
      fields: advanceFields,
      call: clockCall,
      answer: Advanced,
      done: (_shown, _given, answer) => {
        const { now } = Advanced.parse(answer).clock
        return `The clock stands at ${now.slice(0, 10)} ${now.slice(11, 16)} UTC`
      },
    },
  ],
}

function advanceFields(_shown: ShownMerchant, { days = '0', hours = '0' }: GivenFields, refusal?: Problem): Html {
  const problem = refusal && { ...refusal, field: refusal.field === 'advance' ? 'days' : refusal.field }
  const common = { type: 'number', inputMode: 'numeric', problem } as const
  return html`<div class="form-grid">${textField({ ...common, name: 'days', label: 'Days', value: days })}${textField({ ...common, name: 'hours', label: 'Hours', value: hours })}</div>`
}

function clockCall(shown: ShownMerchant, { days = '', hours = '' }: GivenFields): AskedCall {
  const counts = [days, hours].map((text) => /^\d{0,6}$/.exec(text.trim())?.[0])
  const [ofDays, ofHours] = counts
  const isKnown = ofDays !== undefined && ofHours !== undefined
  const advance = isKnown ? Number(ofDays) * DAY_SECONDS + Number(ofHours) * HOUR_SECONDS : 0
  if (advance === 0) return { problem: advanceInvalid(), field: ofDays === undefined || isKnown ? 'days' : 'hours' }
  return { method: 'POST', path: callPath(shown, 'clock'), body: { advance } }
}

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
export type Merchant = z.infer<typeof Merchant>

const App = z.looseObject({ id: z.string(), name: z.string().optional(), added: z.string().optional() })
const Member = z.looseObject({ email: z.string().optional(), id: z.string().optional() })
const Webhook = z.looseObject({ id: z.string(), url: z.string() })

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
/** A merchant with its balance, apps, users and webhooks, and the decimals of the currencies of its amounts. */
export type ShownMerchant = WithDecimals<z.infer<typeof MerchantView>>

export function linesPath(merchantId: string): string {
  return `${merchantPath(merchantId)}/lines`
}

/** The address of a list, with only the rows of one merchant. */
export function listOf(path: string, merchantId: string): string {
  return `${path}?merchant=${encodeURIComponent(merchantId)}`
}
