import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { advanceInvalid, percentInvalid } from '../errors.ts'
import { type AskedCall, type Changeable, type GivenFields, unchangedForm } from '../pages/asked-change.ts'
import { hiddenField, type Problem, textField } from '../pages/form.ts'
import {
  Amount,
  type Decimals,
  invalidAmount,
  money,
  percent,
  readMoney,
  readPercent,
  typedMoney,
  typedPercent,
  type WithDecimals,
} from '../pages/money.ts'
import { merchantPath } from '../pages/paths.ts'
import { answerWith } from '../service-calls/service-call.ts'

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

const Money = z.object({ currency: z.string(), amount: Amount })

const Pricing = z.looseObject({ rate: z.int(), flat: Money, dispute: Money })

/** The fixed fees of the form, in its order. Payments does not show the fee of refunds. */
const FLAT_FEES = [
  { fee: 'flat', label: 'Fee of a capture', hint: undefined },
  { fee: 'dispute', label: 'Fee of a lost dispute', hint: undefined },
  { fee: 'refund', label: 'Fee of a refund', hint: 'Payments does not show it. Empty: unchanged.' },
] as const
type FlatFee = (typeof FLAT_FEES)[number]['fee']

interface Priced {
  readonly pricing: z.infer<typeof Pricing>
  readonly decimals: Decimals
}

export function feeFacts({ pricing: { rate, flat, dispute }, decimals }: Priced): [string, string][] {
  return [
    ['Fee', `${percent(rate)} + ${money(flat.amount, flat.currency, decimals)}`],
    ['Fee of a dispute', money(dispute.amount, dispute.currency, decimals)],
  ]
}

/** Returns the currency of a fixed fee. The fee of a refund has the currency of a capture's fee. */
function currencyOf({ flat, dispute }: Priced['pricing'], fee: FlatFee): string {
  return fee === 'dispute' ? dispute.currency : flat.currency
}

const formerName = (fee: FlatFee | 'rate') => `former_${fee}`

/**
 * Returns the fees at the time when the form was opened. Another operator may change a fee before the form is sent, and an
 * unchanged field must not restore the former value.
 */
function formerFees({ pricing, decimals }: Priced, given: GivenFields): Record<FlatFee | 'rate', string> {
  const typed = ({ amount, currency }: z.infer<typeof Money>) => typedMoney(amount, currency, decimals)
  return {
    rate: given[formerName('rate')] ?? typedPercent(pricing.rate),
    flat: given[formerName('flat')] ?? typed(pricing.flat),
    refund: '',
    dispute: given[formerName('dispute')] ?? typed(pricing.dispute),
  }
}

function feeFields(priced: Priced, given: GivenFields, refusal?: Problem): Html {
  const former = formerFees(priced, given)
  // Payments names a member of the fee, such as `flat.amount`.
  const problem = refusal && { ...refusal, field: refusal.field?.split('.')[0] }
  return html`${(['rate', 'flat', 'dispute'] as const).map((fee) => hiddenField(formerName(fee), former[fee]))}
${textField({
  name: 'rate',
  label: 'Share of a capture in percent',
  value: given.rate ?? former.rate,
  inputMode: 'decimal',
  isRequired: true,
  problem,
})}${FLAT_FEES.map(({ fee, label, hint }) =>
  textField({
    name: fee,
    label: `${label} in ${currencyOf(priced.pricing, fee)}`,
    value: given[fee] ?? former[fee],
    inputMode: 'decimal',
    hint,
    isRequired: former[fee] !== '',
    problem,
  }),
)}`
}

function pricingCall(path: string, priced: Priced, given: GivenFields): AskedCall {
  const former = formerFees(priced, given)
  const isChanged = (fee: FlatFee | 'rate') => (given[fee] ?? '').trim() !== former[fee]
  const body: Record<string, unknown> = {}
  if (isChanged('rate')) {
    const rate = readPercent((given.rate ?? '').trim())
    if (rate === undefined) return { problem: percentInvalid(), field: 'rate' }
    body.rate = rate
  }
  for (const { fee } of FLAT_FEES.filter((flat) => isChanged(flat.fee))) {
    const currency = currencyOf(priced.pricing, fee)
    const amount = readMoney((given[fee] ?? '').trim(), currency, priced.decimals)
    if (amount === undefined) return invalidAmount(fee, currency)
    body[fee] = { currency, amount }
  }
  if (Object.keys(body).length === 0) return unchangedForm()
  return { method: 'PUT', path, body }
}

/** A merchant, as payments returns it (payments reference: Merchant object). */
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
/** A merchant with its balance, apps, users and webhooks, and the decimal places of its currencies. */
export type ShownMerchant = WithDecimals<z.infer<typeof MerchantView>>

export function linesPath(merchantId: string): string {
  return `${merchantPath(merchantId)}/lines`
}

/** Returns the address of a list with the rows of one merchant. */
export function listOf(path: string, merchantId: string): string {
  return `${path}?merchant=${encodeURIComponent(merchantId)}`
}
