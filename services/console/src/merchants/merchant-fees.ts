import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { percentInvalid } from '../errors.ts'
import { type AskedCall, type GivenFields, unchangedForm } from '../pages/asked-change.ts'
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
} from '../pages/money.ts'

const Money = z.object({ currency: z.string(), amount: Amount })

export const Pricing = z.looseObject({ rate: z.int(), flat: Money, dispute: Money })

/** The flat fees of the form, in its order. Payments does not show the fee of refunds. */
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

/** The currency of a flat fee. A refund is charged in the currency of a capture. */
export function currencyOf({ flat, dispute }: Priced['pricing'], fee: FlatFee): string {
  return fee === 'dispute' ? dispute.currency : flat.currency
}

const formerName = (fee: FlatFee | 'rate') => `former_${fee}`

/**
 * The fees that the form began with. Another operator may change a fee before the form is sent: an unchanged field must not
 * restore the former one.
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

export function feeFields(priced: Priced, given: GivenFields, refusal?: Problem): Html {
  const former = formerFees(priced, given)
  // Payments names the member of a fee: `flat.amount`.
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

export function pricingCall(path: string, priced: Priced, given: GivenFields): AskedCall {
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
