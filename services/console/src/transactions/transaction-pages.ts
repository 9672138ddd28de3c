import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, ListQuery, listCard, pageQuery, smallTable } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import {
  badge,
  card,
  copyableId,
  emptyState,
  factList,
  icon,
  jsonText,
  orDash,
  pageHead,
  time,
} from '../pages/parts.ts'
import { merchantPath } from '../pages/paths.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import type { Query } from '../service-calls/service-call.ts'
import { outcomeLink } from './dispute-page.ts'
import { DISPUTE_TONES, disputePath, fraudReason } from './dispute-view.ts'
import { fullTrailLine, quotaLines, transactionChanges } from './transaction-changes.ts'
import {
  cardText,
  readCardAndAmount,
  type ShownTransaction,
  stateBadges,
  TRANSACTIONS_PATH,
  type TrailEntry,
  type Transaction,
  type TransactionsView,
  transactionPath,
} from './transaction-view.ts'

/** The page of a transaction: its changes, its history and its ledger entries. */
export function transactionPage(shown: ShownTransaction, viewer: Viewer): ConsolePage {
  const { transaction, merchant, decimals } = shown
  const { id, amount, currency, created } = transaction
  return {
    title: `${money(amount, currency, decimals)} of ${merchant.name ?? merchant.id}`,
    section: 'transactions',
    main: html`${pageHead({
      title: money(amount, currency, decimals),
      above: { label: 'Transactions', path: TRANSACTIONS_PATH },
      badges: stateBadges(transaction),
      facts: [
        html`<a href="${merchantPath(merchant.id)}">${merchant.name ?? merchant.id}</a>`,
        copyableId(id),
        html`<span>${time(created)}</span>`,
      ],
      actions: changeLinks(transactionChanges, shown, viewer),
      note: roleNote(transactionChanges, shown, viewer),
    })}
${refusalNotice(transaction)}
<div class="grid split"><div class="stack">
${transaction.successful ? amountsCard(shown) : undefined}
${disputesCard(shown, viewer)}
${trailCard(shown)}
${journalsCard(shown)}
</div><div class="stack">
${detailsCard(shown)}
${eventsCard(shown)}
</div></div>`,
  }
}

function refusalNotice({ error }: Transaction): Html | undefined {
  if (error === false) return undefined
  return html`<div class="notice bad">${icon('disputes')}<div><h2>${error.message}</h2><p>The payment was refused with code ${error.code}.</p></div></div>`
}

function amountsCard(shown: ShownTransaction): Html {
  const { transaction, limits, decimals } = shown
  const { currency, pendingAmount, capturedAmount, refundedAmount, voidedAmount, disputedAmount } = transaction
  const amounts = [
    ['Captured', capturedAmount],
    ['Refunded', refundedAmount],
    ['Pending', pendingAmount],
    ['Voided', voidedAmount],
    ['Disputed', disputedAmount],
  ] as const
  const full = fullTrailLine(shown)
  const lines = [...(limits.refund > 0 ? quotaLines(shown) : []), ...(full === undefined ? [] : [full])]
  const quota = lines.length === 0 ? undefined : html`<p class="card-body hint">${lines.join(' ')}</p>`
  return html`<section class="card" aria-label="Amounts"><dl class="stats">${amounts
    .filter(([name, value]) => value > 0 || name === 'Captured')
    .map(
      ([name, value]) => html`<div class="stat"><dt>${name}</dt><dd>${money(value, currency, decimals)}</dd></div>`,
    )}</dl>${quota}</section>`
}

function trailCard({ transaction: { trail, currency, successful }, decimals }: ShownTransaction): Html {
  if (trail.length === 0) {
    const text = `Nothing was captured, refunded or voided${successful ? ' yet' : ''}.`
    return card('Trail', emptyState('transactions', text))
  }
  return card(
    'Trail',
    html`<ol class="card-body timeline">${trail.map(
      (entry) =>
        html`<li><strong>${trailText(entry)} ${money(entry.amount, currency, decimals)}</strong> <span class="soft">${time(entry.created)}${entry.reference === undefined ? '' : ` · ${entry.reference}`}</span></li>`,
    )}</ol>`,
  )
}

function trailText({ capture, refund, dispute }: TrailEntry): Html | string {
  if (capture === true) return 'Captured'
  if (refund === true) return 'Refunded'
  if (dispute !== undefined) {
    return html`<a href="${disputePath(dispute.id)}">Dispute ${dispute.won === true ? 'won' : 'lost'}:</a>`
  }
  return 'Voided'
}

function disputesCard({ disputes, frauds, decimals, reasons }: ShownTransaction, viewer: Viewer): Html | undefined {
  if (disputes.length + frauds.length === 0) return undefined
  const rows = [
    ...disputes.map(({ id, status, amount, currency, reason, due }) => [
      html`<a class="main-link figure" href="${disputePath(id)}">${money(amount, currency, decimals)}</a>`,
      html`${reason.title} ${badge(status, DISPUTE_TONES[status])}`,
      status === 'open' ? html`due ${time(due)}` : '',
      html`${outcomeLink({ id, status }, viewer)}`,
    ]),
    ...frauds.map((fraud) => [
      html`<strong>Fraud alert</strong>`,
      fraudReason(fraud, reasons),
      time(fraud.created),
      '',
    ]),
  ]
  const title = 'Disputes and fraud alerts'
  return card(title, smallTable(title, ['Amount', 'Reason', { label: 'When', kind: 'when' }, ''], rows))
}

function journalsCard({ transaction: { successful }, journals, decimals }: ShownTransaction): Html {
  if (journals.length === 0) {
    return card('Ledger', emptyState('payouts', `Nothing is booked${successful ? ' yet' : ''}.`))
  }
  const rows = journals.flatMap(({ created, kind, entries }) =>
    entries.map(({ account, currency, amount }, at) => [
      at === 0 ? kind : html`<span class="unseen">${kind}</span>`,
      html`<code>${account}</code>`,
      html`<span class="figure">${money(amount, currency, decimals)}</span>`,
      at === 0 ? time(created) : '',
    ]),
  )
  const heads = [
    'Journal',
    { label: 'Account', kind: 'bare' },
    { label: 'Amount', kind: 'number' },
    { label: 'Booked', kind: 'state' },
  ] as const
  return card('Ledger', smallTable('Ledger', heads, rows))
}

function detailsCard({ transaction, acquirer, acquirerRef, threeDS }: ShownTransaction): Html {
  const { card: used, descriptor, reference, recurring, custom } = transaction
  return card(
    'Details',
    html`<div class="card-body stack">${factList([
      ['Card', cardText(transaction)],
      ['Expires', used.expiry.slice(0, 7)],
      ['BIN', html`<code>${used.bin}</code>`],
      ['Security code', used.code.present ? 'given' : 'not given'],
      ['3-D Secure', threeDS === null ? 'none' : threeDS.outcome],
      ['Made by', recurring ? 'the server of the merchant' : 'the customer'],
      ['Descriptor', descriptor],
      ['Reference', reference],
      ['Acquirer', acquirer ?? 'simulator'],
      ['Reference of the acquirer', acquirerRef === undefined ? undefined : html`<code>${acquirerRef}</code>`],
    ])}${custom === undefined ? undefined : html`<h3>Custom data</h3><pre tabindex="0">${jsonText(custom)}</pre>`}</div>`,
  )
}

function eventsCard({ events, merchant }: ShownTransaction): Html {
  const more = html`<a class="button quiet" href="/deliveries?merchant=${encodeURIComponent(merchant.id)}">Deliveries of the merchant</a>`
  if (events.length === 0) return card('Events', emptyState('deliveries', 'No event in the last 30 days.'), more)
  return card(
    'Events',
    html`<ol class="card-body timeline">${events.map(
      ({ type, created }) => html`<li><code>${type}</code> <span class="soft">${time(created)}</span></li>`,
    )}</ol>`,
    more,
  )
}

const flagText = () => z.enum(['', 'true', 'false']).optional()

export const TransactionsQuery = ListQuery.extend({
  merchant: z.string().max(64).optional(),
  successful: flagText(),
  test: flagText(),
})
type TransactionsQuery = z.infer<typeof TransactionsQuery>

/** The query for a list of transactions. Payments knows the currencies, so it reads amounts in the search. */
export function transactionsQuery({
  merchant,
  successful,
  test,
  ...place
}: TransactionsQuery): Query & { readonly search?: string | undefined } {
  return { ...pageQuery(place), merchant, successful, test }
}

export function transactionsPage(
  query: TransactionsQuery,
  { value, next }: Listed<WithDecimals<z.infer<typeof TransactionsView>>>,
): ConsolePage {
  const isOfCardAndAmount = readCardAndAmount(query.search ?? '') !== undefined
  return {
    title: 'Transactions',
    section: 'transactions',
    main: html`${pageHead({ title: 'Transactions' })}
${filters(query)}
${listCard({
  label: 'Transactions',
  path: TRANSACTIONS_PATH,
  columns: transactionColumns(value.decimals),
  rows: value.transactions,
  next,
  query: { ...query },
  // Payments creates the CSV, but can search only for a card or an amount, not for both.
  hasCsv: !isOfCardAndAmount,
  empty: emptyState('transactions', emptyText(query)),
})}`,
  }
}

function emptyText({ search, merchant, successful, test }: TransactionsQuery): string {
  const isFiltered = [search, merchant, successful, test].some(Boolean)
  return isFiltered ? 'No transaction matches.' : 'No payment was made yet.'
}

function filters({ search, merchant, successful, test }: TransactionsQuery): Html {
  return filterForm({
    path: TRANSACTIONS_PATH,
    search,
    placeholder: 'Last 4, amount (12.50, HUF 1000) or both, reference, id',
    kept: [{ name: 'merchant', label: `Merchant ${merchant ?? ''}`, value: merchant }],
    choices: [
      {
        name: 'successful',
        label: 'Outcome',
        value: successful,
        options: [
          ['', 'All outcomes'],
          ['true', 'Authorized'],
          ['false', 'Refused'],
        ],
      },
      {
        name: 'test',
        label: 'Mode',
        value: test,
        options: [
          ['', 'Live and test'],
          ['false', 'Live'],
          ['true', 'Test'],
        ],
      },
    ],
  })
}

function transactionColumns(decimals: Decimals): readonly Column<Transaction>[] {
  return [
    {
      label: 'Amount',
      cell: ({ id, amount, currency }) =>
        html`<a class="main-link figure" href="${transactionPath(id)}">${money(amount, currency, decimals)}</a>`,
    },
    {
      label: 'State',
      kind: 'state',
      cell: (transaction) => html`<span class="badges">${stateBadges(transaction)}</span>`,
    },
    {
      label: 'Card',
      kind: 'bare',
      cell: (transaction) => html`<span class="figure">${cardText(transaction)}</span>`,
    },
    {
      label: 'Reference',
      kind: 'gone',
      cell: ({ reference }) => orDash(reference && html`<span class="long">${reference}</span>`),
    },
    { label: 'Id', kind: 'wide', cell: ({ id }) => html`<code>${id}</code>` },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
  ]
}
