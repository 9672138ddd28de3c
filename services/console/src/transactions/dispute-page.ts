import { type Html, html } from '@trestle/common/documents/html.ts'
import { mayDo } from '@trestle/operators/operator-roles.ts'
import { z } from 'zod'
import { type Changeable, changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import { choiceField, NO_CHOICE } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import {
  askLink,
  badge,
  card,
  copyableId,
  emptyState,
  factList,
  merchantLink,
  pageHead,
  tabs,
  time,
} from '../pages/parts.ts'
import { merchantPath } from '../pages/paths.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { answerWith } from '../service-calls/service-call.ts'
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
import { cardText, stateBadges, type TransactionView, transactionPath } from './transaction-view.ts'

/** A dispute with its payment, and the decimals of both currencies. */
export type ShownDispute = WithDecimals<Pick<z.infer<typeof TransactionView>, 'transaction' | 'merchant'>> & {
  readonly dispute: Dispute
}

const OUTCOMES = [
  NO_CHOICE,
  ['won', 'won: the money stays with the merchant'],
  ['lost', 'lost: the money goes to the customer'],
] as const

export const disputeChanges: Changeable<ShownDispute> = {
  service: 'payments',
  section: 'disputes',
  pathOf: ({ dispute }) => disputePath(dispute.id),
  changes: [
    {
      name: 'outcome',
      action: 'disputes.close',
      label: 'Outcome',
      submit: 'Record the outcome',
      title: (shown) => `Outcome of the dispute of ${amountOf(shown)}`,
      isDangerous: true,
      isOffered: ({ dispute }) => dispute.status === 'open',
      consequences: (shown) => [
        `Won: ${merchantName(shown)} keeps the money. Lost: it goes back to ${cardText(shown.transaction)}.`,
        'This cannot be undone.',
      ],
      fields: (_shown, { outcome }) =>
        choiceField({ name: 'outcome', label: 'Outcome', value: outcome, isRequired: true, options: OUTCOMES }),
      call: ({ dispute }, { outcome = '' }) => ({
        method: 'POST',
        path: `/operator/disputes/${encodeURIComponent(dispute.id)}/outcome`,
        body: { outcome },
      }),
      answer: answerWith('dispute'),
      done: (_shown, { outcome }) => `The dispute is ${outcome === 'won' ? 'won' : 'lost'}`,
    },
  ],
}

/** The page of a dispute, with the payment and the reason. */
export function disputePage(shown: ShownDispute, viewer: Viewer): ConsolePage {
  const { dispute, merchant } = shown
  const { id, status, created } = dispute
  return {
    title: `Dispute of ${amountOf(shown)}`,
    section: 'disputes',
    main: html`${pageHead({
      title: amountOf(shown),
      above: { label: 'Disputes', path: DISPUTES_PATH },
      badges: [badge(status, DISPUTE_TONES[status])],
      facts: [
        html`<a href="${merchantPath(merchant.id)}">${merchantName(shown)}</a>`,
        copyableId(id),
        html`<span>${time(created)}</span>`,
      ],
      actions: changeLinks(disputeChanges, shown, viewer),
      note: roleNote(disputeChanges, shown, viewer),
    })}
<div class="grid split"><div class="stack">
${disputeCard(shown)}
</div><div class="stack">
${paymentCard(shown)}
</div></div>`,
  }
}

/** The button that records the outcome of a dispute. `undefined` if it is decided or the role may not. */
export function outcomeLink({ id, status }: Pick<Dispute, 'id' | 'status'>, { role }: Viewer): Html | undefined {
  if (status !== 'open' || !mayDo(role, 'disputes.close')) return undefined
  return askLink(`${disputePath(id)}/outcome`, 'Outcome…', 'danger')
}

function disputeCard(shown: ShownDispute): Html {
  const { reason, due, resolved, status, excess, currency } = shown.dispute
  return card(
    'Dispute',
    html`<div class="card-body">${factList([
      ['Reason', `${reason.title} (${reason.code})`],
      ['Beyond the captures', excess === undefined ? undefined : money(excess, currency, shown.decimals)],
      ['Due', status === 'open' ? time(due) : undefined],
      ['Decided', resolved && time(resolved)],
      ['Money', MONEY_TEXTS[status](shown)],
    ])}</div>`,
  )
}

/** The location of the disputed money, by the state of the dispute. */
const MONEY_TEXTS: Readonly<Record<Dispute['status'], (shown: ShownDispute) => string>> = {
  open: (shown) => `kept from the balance of ${merchantName(shown)} until the dispute is decided`,
  won: (shown) => `stays with ${merchantName(shown)}`,
  lost: ({ transaction }) => `went back to ${cardText(transaction)}`,
}

function paymentCard({ transaction, decimals }: ShownDispute): Html {
  const { id, amount, currency, created } = transaction
  return card(
    'Payment',
    html`<div class="card-body">${factList([
      ['Amount', money(amount, currency, decimals)],
      ['State', html`<span class="badges">${stateBadges(transaction)}</span>`],
      ['Card', cardText(transaction)],
      ['Created', time(created)],
      ['Id', html`<a href="${transactionPath(id)}"><code>${id}</code></a>`],
    ])}</div>`,
  )
}

function amountOf({ dispute: { amount, currency }, decimals }: ShownDispute): string {
  return money(amount, currency, decimals)
}

function merchantName({ merchant }: ShownDispute): string {
  return merchant.name ?? merchant.id
}

export const DisputesQuery = ListQuery.extend({
  merchant: MerchantId,
  status: z.enum(['', 'open', 'won', 'lost']).optional(),
})
export const FraudsQuery = ListQuery.extend({ merchant: MerchantId })

const TABS = [
  [DISPUTES_PATH, 'Disputes'],
  [FRAUDS_PATH, 'Fraud alerts'],
] as const

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
  empty: emptyState('disputes', merchant || status ? 'No dispute matches.' : 'No disputes yet.'),
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
