import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import { choiceField, NO_CHOICE, textField } from '../pages/form.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, ListQuery, listCard, MerchantId } from '../pages/list.ts'
import { Amount, type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { badge, emptyState, jsonText, merchantLink, pageHead, tabs, time } from '../pages/parts.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { answerWith } from '../service-calls/service-call.ts'

const Exception = z.looseObject({
  merchantId: z.string(),
  id: z.string(),
  created: z.string(),
  acquirer: z.string().optional(),
  kind: z.string(),
  payload: z.record(z.string(), z.unknown()),
  heldBack: z.object({ currency: z.string(), amount: Amount.optional() }).optional(),
  resolved: z.string().optional(),
})
/** An answer of an acquirer that contradicts the books (console reference: Routes of payments). */
export type Exception = z.infer<typeof Exception>

/** The money that payouts hold back until the exception is resolved. Without an amount, the whole balance. */
type HeldBack = NonNullable<Exception['heldBack']>

export const ExceptionAnswer = z.object({ exception: Exception })

export const ExceptionsView = z.object({ exceptions: z.array(Exception) })

const Attempt = z.looseObject({
  id: z.string(),
  merchantId: z.string(),
  created: z.string(),
  amount: Amount,
  currency: z.string(),
  acquirer: z.string().optional(),
  state: z.string(),
  transactionId: z.string().optional(),
})
/** An authorization with an unknown outcome. */
export type Attempt = z.infer<typeof Attempt>

export const AttemptsView = z.object({ attempts: z.array(Attempt) })

export const EXCEPTIONS_PATH = '/exceptions'
const ATTEMPTS_PATH = '/attempts'

export const ExceptionsQuery = ListQuery.extend({ merchant: MerchantId, open: z.enum(['', 'false']).optional() })

const TABS = [
  [EXCEPTIONS_PATH, 'Exceptions'],
  [ATTEMPTS_PATH, 'Unknown outcomes'],
] as const

/** Shows the list of exceptions with the answers of the acquirer. */
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
    { label: 'Answer of the acquirer', kind: 'bare', cell: ({ payload }) => payloadOf(payload) },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
    { label: '', cell: (exception) => html`${changeLinks(exceptionChanges, { ...exception, decimals }, viewer)}` },
  ]
}

function payloadOf(payload: Exception['payload']): Html {
  return html`<details><summary>Answer</summary><pre tabindex="0">${jsonText(payload)}</pre></details>`
}

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

export const exceptionChanges: Changeable<WithDecimals<Exception>> = {
  service: 'payments',
  section: 'exceptions',
  pathOf: ({ merchantId, id }) => `${EXCEPTIONS_PATH}/${encodeURIComponent(merchantId)}/${encodeURIComponent(id)}`,
  shownAt: () => EXCEPTIONS_PATH,
  changes: [
    {
      name: 'resolution',
      action: 'exceptions.resolve',
      label: 'Resolve',
      title: () => 'Mark as resolved',
      submit: 'Mark as resolved',
      isOffered: ({ resolved }) => resolved === undefined,
      consequences: ({ acquirer = 'the acquirer', kind, heldBack, decimals }) => [
        `The books stay as they are: you say that what ${acquirer} answered about the ${kind} needs nothing more.`,
        ...(heldBack === undefined
          ? []
          : [
              `Payouts no longer hold back ${heldBackText(heldBack, decimals)}. If the acquirer takes money, book it instead: payments adjust --exception also resolves the exception.`,
            ]),
        'The exception leaves the list of those that wait.',
      ],
      fields: (_shown, { note }) =>
        textField({
          name: 'note',
          label: 'Note (optional)',
          value: note,
          maxLength: 1_000,
          hint: 'For the audit log: what you have found out and done.',
        }),
      call: ({ merchantId, id }, { note = '' }) => ({
        method: 'POST',
        path: `/operator/exceptions/${encodeURIComponent(merchantId)}/${encodeURIComponent(id)}/resolution`,
        body: note.trim() === '' ? {} : { note: note.trim() },
      }),
      answer: answerWith('exception'),
      done: 'The exception is resolved',
    },
  ],
}

const OUTCOMES = [
  NO_CHOICE,
  ['approved', 'approved: the acquirer has authorized it'],
  ['declined', 'declined: the acquirer has refused it'],
] as const

export const attemptChanges: Changeable<WithDecimals<Attempt>> = {
  service: 'payments',
  section: 'exceptions',
  pathOf: ({ id }) => `${ATTEMPTS_PATH}/${encodeURIComponent(id)}`,
  shownAt: () => ATTEMPTS_PATH,
  changes: [
    {
      name: 'outcome',
      action: 'attempts.resolve',
      label: 'Outcome',
      submit: 'Record the outcome',
      title: ({ amount, currency, decimals }) => `Outcome of the authorization of ${money(amount, currency, decimals)}`,
      isDangerous: true,
      consequences: ({ acquirer = 'the simulator' }) => [
        `Ask ${acquirer} first: only they know the outcome of the authorization.`,
        'If they have approved it, the authorization is given back, because the payment has ended.',
        'This cannot be undone.',
      ],
      fields: (_shown, { outcome }) =>
        choiceField({ name: 'outcome', label: 'Outcome', value: outcome, isRequired: true, options: OUTCOMES }),
      call: ({ id }, { outcome = '' }) => ({
        method: 'POST',
        path: `/operator/attempts/${encodeURIComponent(id)}/outcome`,
        body: { outcome },
      }),
      answer: answerWith('attempt'),
      done: (_shown, { outcome }) =>
        outcome === 'approved' ? 'The authorization was approved, and is given back' : 'The authorization was declined',
    },
  ],
}

function heldBackText({ amount, currency }: HeldBack, decimals: Decimals): string {
  return amount === undefined ? 'the whole balance' : money(amount, currency, decimals)
}
