import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { advanceInvalid, percentInvalid } from '../errors.ts'
import { type AskedCall, type Changeable, type GivenFields, unchangedForm } from '../pages/asked-change.ts'
import { hiddenField, type Problem, textField } from '../pages/form.ts'
import { invalidAmount, readMoney, readPercent, typedMoney, typedPercent } from '../pages/money.ts'
import { merchantPath } from '../pages/paths.ts'
import { answerWith } from '../service-calls/service-call.ts'
import type { ShownMerchant } from './merchant-view.ts'

const Advanced = z.object({ clock: z.object({ now: z.string() }) })

const HOUR_SECONDS = 3_600
const DAY_SECONDS = 24 * HOUR_SECONDS

const nameOf = ({ merchant }: ShownMerchant) => merchant.name ?? merchant.id
const callPath = ({ merchant }: ShownMerchant, below: string) =>
  `/operator/merchants/${encodeURIComponent(merchant.id)}/${below}`

/** The changes of a merchant that operators make. */
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
        'What was charged stays as it is. A field that you leave as it is stays as it is.',
        'The merchant is told by an event.',
      ],
      fields: feeFields,
      reliesOn: (shown) => ({ flat: currencyOf(shown, 'flat'), dispute: currencyOf(shown, 'dispute') }),
      call: pricingCall,
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

/** The fees of a form. Payments does not show the fee of refunds. */
const FEES = ['rate', 'flat', 'refund', 'dispute'] as const
type Fee = (typeof FEES)[number]
type FlatFee = Exclude<Fee, 'rate'>

const formerName = (fee: Fee) => `former_${fee}`

/** The fields of the form that payments calls by another name. */
const FIELDS: Readonly<Record<string, string>> = {
  'flat.amount': 'flat',
  'flat.currency': 'flat',
  'refund.amount': 'refund',
  'refund.currency': 'refund',
  'dispute.amount': 'dispute',
  'dispute.currency': 'dispute',
  advance: 'days',
}

/** A refusal of payments, at the field of the form. */
function problemAtField(problem: Problem | undefined): Problem | undefined {
  const { field = '' } = problem ?? {}
  return problem && { ...problem, field: FIELDS[field] ?? field }
}

/** The currency of a flat fee. A refund is charged in that of a capture. */
function currencyOf({ merchant: { pricing } }: ShownMerchant, fee: FlatFee): string {
  return fee === 'dispute' ? pricing.dispute.currency : pricing.flat.currency
}

/**
 * The fees that the form began with. Another operator may change a fee before the form is sent: what is left
 * as it was must not put the former one back.
 */
function formerFees({ merchant: { pricing }, decimals }: ShownMerchant, given: GivenFields): Record<Fee, string> {
  const typed = ({ amount, currency }: { readonly amount: number; readonly currency: string }) =>
    typedMoney(amount, currency, decimals)
  return {
    rate: given[formerName('rate')] ?? typedPercent(pricing.rate),
    flat: given[formerName('flat')] ?? typed(pricing.flat),
    refund: '',
    dispute: given[formerName('dispute')] ?? typed(pricing.dispute),
  }
}

function feeFields(shown: ShownMerchant, given: GivenFields, refusal?: Problem): Html {
  const former = formerFees(shown, given)
  const problem = problemAtField(refusal)
  const flatField = (fee: FlatFee, label: string, hint?: string) =>
    textField({
      name: fee,
      label: `${label} in ${currencyOf(shown, fee)}`,
      value: given[fee] ?? former[fee],
      inputMode: 'decimal',
      hint,
      isRequired: former[fee] !== '',
      problem,
    })
  return html`${FEES.filter((fee) => fee !== 'refund').map((fee) => hiddenField(formerName(fee), former[fee]))}
${textField({
  name: 'rate',
  label: 'Share of a capture in percent',
  value: given.rate ?? former.rate,
  inputMode: 'decimal',
  isRequired: true,
  problem,
})}${flatField('flat', 'Fee of a capture')}${flatField('dispute', 'Fee of a lost dispute')}${flatField('refund', 'Fee of a refund', 'Payments does not show it. Empty: it stays as it is.')}`
}

function pricingCall(shown: ShownMerchant, given: GivenFields): AskedCall {
  const former = formerFees(shown, given)
  const body: Record<string, unknown> = {}
  for (const fee of FEES) {
    const text = (given[fee] ?? '').trim()
    if (text === former[fee]) continue
    if (fee === 'rate') {
      const rate = readPercent(text)
      if (rate === undefined) return { problem: percentInvalid(), field: fee }
      body[fee] = rate
    } else {
      const currency = currencyOf(shown, fee)
      const amount = readMoney(text, currency, shown.decimals)
      if (amount === undefined) return invalidAmount(fee, currency)
      body[fee] = { currency, amount }
    }
  }
  if (Object.keys(body).length === 0) return unchangedForm()
  return { method: 'PUT', path: callPath(shown, 'pricing'), body }
}

function advanceFields(_shown: ShownMerchant, { days = '0', hours = '0' }: GivenFields, refusal?: Problem): Html {
  const problem = problemAtField(refusal)
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
