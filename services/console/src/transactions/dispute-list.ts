import { html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { badge, emptyState, merchantLink, pageHead, tabs, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { outcomeLink } from './dispute-page.ts'
import {
  DISPUTE_TONES,
  DISPUTES_PATH,
  type Dispute,
  type DisputesView,
  disputePath,
  FRAUDS_PATH,
  type Fraud,
  type FraudsView,
  fraudReason,
  type Reasons,
} from './dispute-view.ts'
import { transactionPath } from './transaction-view.ts'

/** The query in the address of the list of disputes. */
export const DisputesQuery = ListQuery.extend({
  merchant: MerchantId,
  status: z.enum(['', 'open', 'won', 'lost']).optional(),
})
/** The query in the address of the list of fraud alerts. */
export const FraudsQuery = ListQuery.extend({ merchant: MerchantId })

const TABS = [
  [DISPUTES_PATH, 'Disputes'],
  [FRAUDS_PATH, 'Fraud alerts'],
] as const

/** The list of disputes. Their outcome is recorded from here. */
export function disputesPage(
  query: z.infer<typeof DisputesQuery>,
  { value, next }: Listed<WithDecimals<z.infer<typeof DisputesView>>>,
  viewer: Viewer,
): ConsolePage {
  const { merchant, status } = query
  return {
    title: 'Disputes',
    section: 'disputes',
    main: html`${pageHead({ title: 'Disputes' })}
${tabs('Disputes and fraud alerts', TABS, DISPUTES_PATH)}
${filterForm({
  path: DISPUTES_PATH,
  search: merchant,
  searchName: 'merchant',
  placeholder: 'Id of a merchant',
  choices: [
    {
      name: 'status',
      label: 'State',
      value: status,
      options: [
        ['', 'All states'],
        ['open', 'Open'],
        ['won', 'Won'],
        ['lost', 'Lost'],
      ],
    },
  ],
})}
${listCard({
  label: 'Disputes',
  path: DISPUTES_PATH,
  columns: disputeColumns(viewer, value.decimals),
  rows: value.disputes,
  next,
  query: { ...query },
  hasCsv: true,
  empty: emptyState('disputes', merchant || status ? 'No dispute matches.' : 'Nobody disputes a payment.'),
})}`,
  }
}

function disputeColumns(viewer: Viewer, decimals: Decimals): readonly Column<Dispute>[] {
  return [
    {
      label: 'Amount',
      cell: ({ id, amount, currency }) =>
        html`<a class="main-link figure" href="${disputePath(id)}">${money(amount, currency, decimals)}</a>`,
    },
    { label: 'State', kind: 'state', cell: ({ status }) => badge(status, DISPUTE_TONES[status]) },
    { label: 'Reason', cell: ({ reason }) => reason.title },
    { label: 'Due', cell: ({ due, status }) => (status === 'open' ? time(due) : '') },
    { label: 'Merchant', kind: 'gone', cell: ({ merchantId }) => merchantLink(merchantId) },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    {
      label: '',
      cell: (dispute) => html`${outcomeLink(dispute, viewer)}`,
    },
  ]
}

/** The list of fraud alerts, which the schemes send. */
export function fraudsPage(
  query: z.infer<typeof FraudsQuery>,
  { value, next }: Listed<z.infer<typeof FraudsView>>,
  reasons: Reasons,
): ConsolePage {
  return {
    title: 'Fraud alerts',
    section: 'disputes',
    main: html`${pageHead({ title: 'Disputes' })}
${tabs('Disputes and fraud alerts', TABS, FRAUDS_PATH)}
${filterForm({ path: FRAUDS_PATH, search: query.merchant, searchName: 'merchant', placeholder: 'Id of a merchant' })}
${listCard({
  label: 'Fraud alerts',
  path: FRAUDS_PATH,
  columns: fraudColumns(reasons),
  rows: value.frauds,
  next,
  query: { ...query },
  empty: emptyState('disputes', query.merchant ? 'No alert matches.' : 'No scheme has warned of fraud.'),
})}`,
  }
}

function fraudColumns(reasons: Reasons): readonly Column<Fraud>[] {
  return [
    {
      label: 'Transaction',
      cell: ({ transactionId }) =>
        html`<a class="main-link" href="${transactionPath(transactionId)}"><code>${transactionId}</code></a>`,
    },
    { label: 'Reason', cell: (fraud) => fraudReason(fraud, reasons) || '–' },
    { label: 'Reported', cell: ({ reported }) => time(reported) },
    { label: 'Merchant', kind: 'gone', cell: ({ merchantId }) => merchantLink(merchantId) },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
  ]
}
