import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { changeLinks, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import { type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { badge, emptyState, jsonText, merchantLink, pageHead, tabs, time } from '../pages/parts.ts'
import type { Column } from '../pages/table.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { attemptChanges, exceptionChanges, heldBackText } from './exception-changes.ts'
import {
  ATTEMPTS_PATH,
  type Attempt,
  type AttemptsView,
  EXCEPTIONS_PATH,
  type Exception,
  type ExceptionsView,
} from './exception-view.ts'

/** The query in the address of the list of exceptions. */
export const ExceptionsQuery = ListQuery.extend({ merchant: MerchantId, open: z.enum(['', 'false']).optional() })

const TABS = [
  [EXCEPTIONS_PATH, 'Exceptions'],
  [ATTEMPTS_PATH, 'Unknown outcomes'],
] as const

/** The list of exceptions, with what the acquirer has said. */
export function exceptionsPage(
  query: z.infer<typeof ExceptionsQuery>,
  { value, next }: Listed<WithDecimals<z.infer<typeof ExceptionsView>>>,
  viewer: Viewer,
): ConsolePage {
  const { merchant, open } = query
  return {
    title: 'Exceptions',
    section: 'exceptions',
    main: html`${pageHead({ title: 'Exceptions' })}
${tabs('Exceptions and unknown outcomes', TABS, EXCEPTIONS_PATH)}
${filterForm({
  path: EXCEPTIONS_PATH,
  search: merchant,
  searchName: 'merchant',
  placeholder: 'Id of a merchant',
  choices: [
    {
      name: 'open',
      label: 'State',
      value: open,
      options: [
        ['', 'Waiting'],
        ['false', 'Resolved'],
      ],
    },
  ],
})}
${listCard({
  label: 'Exceptions',
  path: EXCEPTIONS_PATH,
  columns: exceptionColumns(viewer, value.decimals),
  rows: value.exceptions,
  next,
  query: { ...query },
  empty: emptyState('exceptions', merchant || open ? 'No exception matches.' : 'Acquirers and books agree.'),
})}`,
  }
}

function exceptionColumns(viewer: Viewer, decimals: Decimals): readonly Column<Exception>[] {
  return [
    {
      label: 'About',
      cell: ({ kind, acquirer }) => html`<strong>${kind}</strong> <span class="soft">${acquirer ?? 'simulator'}</span>`,
    },
    {
      label: 'State',
      kind: 'state',
      cell: ({ resolved }) => (resolved === undefined ? badge('Waits', 'warn') : badge('Resolved', 'good')),
    },
    { label: 'Merchant', cell: ({ merchantId }) => merchantLink(merchantId) },
    {
      label: 'Held back',
      kind: 'number',
      cell: ({ heldBack }) => (heldBack === undefined ? '' : heldBackText(heldBack, decimals)),
    },
    { label: 'What was said', kind: 'bare', cell: ({ payload }) => payloadOf(payload) },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    { label: '', cell: (exception) => html`${changeLinks(exceptionChanges, { ...exception, decimals }, viewer)}` },
  ]
}

function payloadOf(payload: Exception['payload']): Html {
  return html`<details><summary>Answer</summary><pre tabindex="0">${jsonText(payload)}</pre></details>`
}

/** The list of authorizations whose outcome nobody knows. */
export function attemptsPage(
  query: z.infer<typeof ListQuery>,
  { value, next }: Listed<WithDecimals<z.infer<typeof AttemptsView>>>,
  viewer: Viewer,
): ConsolePage {
  return {
    title: 'Unknown outcomes',
    section: 'exceptions',
    main: html`${pageHead({ title: 'Exceptions' })}
${tabs('Exceptions and unknown outcomes', TABS, ATTEMPTS_PATH)}
${listCard({
  label: 'Unknown outcomes',
  path: ATTEMPTS_PATH,
  columns: attemptColumns(viewer, value.decimals),
  rows: value.attempts,
  next,
  query: { ...query },
  empty: emptyState('check', 'The outcome of every authorization is known.'),
})}`,
  }
}

function attemptColumns(viewer: Viewer, decimals: Decimals): readonly Column<Attempt>[] {
  return [
    {
      label: 'Amount',
      cell: ({ amount, currency }) => html`<strong class="figure">${money(amount, currency, decimals)}</strong>`,
    },
    { label: 'Acquirer', cell: ({ acquirer }) => acquirer ?? 'simulator' },
    { label: 'Merchant', cell: ({ merchantId }) => merchantLink(merchantId) },
    { label: 'Id', kind: 'wide', cell: ({ id }) => html`<code>${id}</code>` },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    { label: '', cell: (attempt) => html`${changeLinks(attemptChanges, { ...attempt, decimals }, viewer)}` },
  ]
}
