import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, ListQuery, listCard, pageQuery } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { badge, emptyState, orDash, pageHead, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import type { Query } from '../service-calls/service-call.ts'
import { readCardAndAmount } from './card-and-amount.ts'
import {
  cardText,
  stateOf,
  TRANSACTIONS_PATH,
  type Transaction,
  type TransactionsView,
  transactionPath,
} from './transaction-view.ts'

const flagText = () => z.enum(['', 'true', 'false']).optional()

/** The query in the address of the list of transactions. */
export const TransactionsQuery = ListQuery.extend({
  merchant: z.string().max(64).optional(),
  successful: flagText(),
  test: flagText(),
})
type TransactionsQuery = z.infer<typeof TransactionsQuery>

/** The query of a list of transactions for payments, which reads a search by an amount itself: it knows the currencies. */
export function transactionsQuery({
  merchant,
  successful,
  test,
  ...place
}: TransactionsQuery): Query & { readonly search?: string | undefined } {
  return { ...pageQuery(place), merchant, successful, test }
}

/** The list of transactions. */
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
  // Payments makes the CSV, and looks for one of the two at a time.
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

/** The state of a transaction, and whether no real money moved. */
export function stateBadges(transaction: Transaction): readonly Html[] {
  const { text, tone } = stateOf(transaction)
  return [badge(text, tone), ...(transaction.test ? [badge('Test')] : [])]
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
