import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { type ListQuery, listCard } from '../pages/list.ts'
import { Amount, type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { emptyState, orDash, pageHead, time } from '../pages/parts.ts'
import { merchantPath } from '../pages/paths.ts'
import type { Column } from '../pages/table.ts'
import { payoutPath } from '../payouts/payout-view.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { transactionPath } from '../transactions/transaction-view.ts'
import { linesPath, type Merchant } from './merchant-view.ts'

const flag = () => z.literal(true).optional()

/** A change of the balance of a merchant, as payments shows it (payments reference: Line object). */
const Line = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  created: z.string(),
  balance: Amount,
  fee: Amount.optional(),
  balanceAfter: Amount,
  description: z.string().optional(),
  transactionId: z.string().optional(),
  amount: z.object({ currency: z.string(), amount: Amount }).optional(),
  capture: flag(),
  refund: flag(),
  dispute: flag(),
  payout: flag(),
  payoutReversal: flag(),
  adjustment: flag(),
  fundingCurrency: z.string().optional(),
})
type Line = z.infer<typeof Line>

/** A page of lines. */
export const LinesView = z.object({ lines: z.array(Line) })

const KINDS = [
  ['capture', 'Capture'],
  ['refund', 'Refund'],
  ['dispute', 'Lost dispute'],
  ['payout', 'Payout'],
  ['payoutReversal', 'Returned payout'],
  ['adjustment', 'Adjustment'],
] as const

/** The lines of a merchant: what has changed its balance. */
export function linesPage(
  merchant: Merchant,
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<WithDecimals<z.infer<typeof LinesView>>>,
): ConsolePage {
  const { id, name = id } = merchant
  const title = `Lines of ${name}`
  return {
    title,
    section: 'merchants',
    main: html`${pageHead({ title, above: { label: name, path: merchantPath(id) } })}
${listCard({
  label: 'Lines',
  path: linesPath(id),
  columns: lineColumns(merchant, value.decimals),
  rows: value.lines,
  next,
  query: { ...query },
  hasCsv: true,
  empty: emptyState('merchants', 'Nothing has changed the balance yet.'),
})}`,
  }
}

function lineColumns({ currency }: Merchant, decimals: Decimals): readonly Column<Line>[] {
  return [
    { label: 'Line', cell: lineLink },
    {
      label: 'Amount',
      kind: 'number',
      cell: ({ amount }) => orDash(amount && money(amount.amount, amount.currency, decimals)),
    },
    {
      label: 'Fee',
      kind: 'number',
      cell: ({ fee, fundingCurrency = currency }) =>
        orDash(fee === undefined ? '' : money(fee, fundingCurrency, decimals)),
    },
    {
      label: 'Change',
      kind: 'number',
      cell: ({ balance, fundingCurrency = currency }) => money(balance, fundingCurrency, decimals),
    },
    {
      label: 'Balance',
      kind: 'number',
      cell: ({ balanceAfter, fundingCurrency = currency }) => money(balanceAfter, fundingCurrency, decimals),
    },
    { label: 'Of', kind: 'spare', cell: causeOf },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
  ]
}

/** The kind of a line. It leads to the transaction or the payout. */
function lineLink(line: Line): Html {
  const [kind, text] = KINDS.find(([name]) => line[name] === true) ?? ['', 'Line']
  const payoutId = kind === 'payout' || kind === 'payoutReversal' ? writtenId(line) : undefined
  if (line.transactionId !== undefined) return mainLink(transactionPath(line.transactionId), text)
  return payoutId === undefined ? html`<strong>${text}</strong>` : mainLink(payoutPath(payoutId), text)
}

function mainLink(path: string, text: string): Html {
  return html`<a class="main-link" href="${path}">${text}</a>`
}

/** The id of what a line belongs to, or the words of an adjustment. */
function causeOf(line: Line): Html {
  const id = line.transactionId ?? (line.adjustment === true ? undefined : writtenId(line))
  return id === undefined ? orDash(line.description) : html`<code>${id}</code>`
}

/** The id at the end of a description: a line of a payout names it there alone. */
function writtenId({ description = '' }: Line): string | undefined {
  return /[0-9a-f]{24}$/.exec(description)?.[0]
}
