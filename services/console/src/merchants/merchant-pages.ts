import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { EXCEPTIONS_PATH } from '../exceptions/exception-list.ts'
import { changeLinks, roleNote, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { type Column, filterForm, type ListQuery, listCard, smallTable } from '../pages/list.ts'
import { Amount, type Decimals, money, type WithDecimals } from '../pages/money.ts'
import { badge, breakable, card, copyableId, emptyState, factList, orDash, pageHead, time } from '../pages/parts.ts'
import { merchantPath } from '../pages/paths.ts'
import { PAYOUTS_PATH, payoutPath } from '../payouts/payout-changes.ts'
import type { Listed } from '../service-calls/operator-calls.ts'
import { DISPUTES_PATH } from '../transactions/dispute-view.ts'
import { TRANSACTIONS_PATH, transactionPath } from '../transactions/transaction-view.ts'
import { appChanges } from './app-list.ts'
import {
  feeFacts,
  linesPath,
  listOf,
  type Merchant,
  type MerchantsView,
  merchantChanges,
  type ShownMerchant,
} from './merchant-changes.ts'

export function merchantPage(shown: ShownMerchant, viewer: Viewer): ConsolePage {
  const { merchant } = shown
  const { id, name, test, created, website } = merchant
  return {
    title: name ?? id,
    section: 'merchants',
    main: html`${pageHead({
      title: name ?? id,
      above: { label: 'Merchants', path: '/merchants' },
      badges: test ? [badge('Test')] : [badge('Live', 'good')],
      facts: [copyableId(id), html`<span>${breakable(website)}</span>`, html`<span>since ${time(created)}</span>`],
      actions: changeLinks(merchantChanges, shown, viewer),
      note: roleNote(merchantChanges, shown, viewer),
    })}
<div class="grid split"><div class="stack">
${balanceCard(shown)}
${appsCard(shown, viewer)}
${membersCard(shown)}
</div><div class="stack">
${detailsCard(shown)}
${webhooksCard(shown)}
</div></div>`,
  }
}

function balanceCard({ merchant, available, reserve, decimals }: ShownMerchant): Html {
  const { balance, currency } = merchant
  const stats = [
    ['Balance', balance],
    ['Available for a payout', available],
    ['Kept for open disputes', reserve],
  ] as const
  return html`<section class="card" aria-label="Balance"><dl class="stats">${stats.map(
    ([label, amount]) => html`<div class="stat"><dt>${label}</dt><dd>${money(amount, currency, decimals)}</dd></div>`,
  )}</dl>${listLinks(merchant.id)}</section>`
}

function listLinks(id: string): Html {
  const lists = [
    ['Lines', linesPath(id)],
    ['Transactions', listOf(TRANSACTIONS_PATH, id)],
    ['Disputes', listOf(DISPUTES_PATH, id)],
    ['Payouts', listOf(PAYOUTS_PATH, id)],
    ['Exceptions', listOf(EXCEPTIONS_PATH, id)],
  ] as const
  return html`<nav class="card-body actions" aria-label="Lists of the merchant">${lists.map(([label, path]) => html`<a class="button" href="${path}">${label}</a>`)}</nav>`
}

function detailsCard({ merchant, acquirer, decimals }: ShownMerchant): Html {
  const { key, email, descriptor, company, bank, pricing, tds, claim } = merchant
  const refused = Object.entries(claim).flatMap(([name, may]) => (may ? [] : [name.replace(/^can/, '').toLowerCase()]))
  return card(
    'Details',
    html`<div class="card-body">${factList([
      ['Public key', copyableId(key)],
      ['Email', email],
      ['Descriptor', descriptor],
      ['Company', [company.country, company.number].filter(Boolean).join(' ')],
      ['IBAN', bank?.iban === undefined ? 'none: no payout is made' : html`<code>${bank.iban}</code>`],
      ['Account holder', bank?.holder],
      ...feeFacts({ pricing, decimals }),
      ['3-D Secure', tds.mode],
      ['Acquirer', acquirer ?? 'simulator'],
      ['May not', refused.map(wordsOf).join(', ')],
    ])}</div>`,
  )
}

function wordsOf(name: string): string {
  return { chargecard: 'charge cards', savecard: 'keep cards', transfertocard: 'pay out to cards' }[name] ?? name
}

function appsCard({ merchant, apps }: ShownMerchant, viewer: Viewer): Html {
  if (apps.length === 0) return card('Apps', emptyState('settings', 'No app has access.'))
  const rows = apps.map((app) => [
    html`<strong>${app.name ?? 'without a name'}</strong>`,
    copyableId(app.id),
    html`${changeLinks(appChanges, { merchant, app }, viewer)}`,
  ])
  return card('Apps', smallTable('Apps', ['Name', 'Id', ''], rows))
}

function membersCard({ users }: ShownMerchant): Html {
  if (users.length === 0) return card('Users', emptyState('users', 'No user has access.'))
  const rows = users.map(({ email, id }) => [email ?? '–', id === undefined ? '–' : html`<code>${id}</code>`])
  return card('Users', smallTable('Users', ['Email', 'Id'], rows))
}

function webhooksCard({ webhooks }: ShownMerchant): Html {
  if (webhooks.length === 0) return card('Webhooks', emptyState('deliveries', 'Events are sent nowhere.'))
  return card(
    'Webhooks',
    html`<ul class="card-body stack">${webhooks.map(({ id, url }) => html`<li><div>${breakable(url)}</div><div>${copyableId(id)}</div><div><a href="/deliveries?webhook=${encodeURIComponent(id)}">Deliveries</a></div></li>`)}</ul>`,
  )
}

export interface MerchantsQuery extends z.infer<typeof ListQuery> {
  readonly test?: string | undefined
}

export function merchantsPage(
  query: MerchantsQuery,
  { value, next }: Listed<WithDecimals<z.infer<typeof MerchantsView>>>,
): ConsolePage {
  const path = '/merchants'
  const isFiltered = [query.search, query.test].some(Boolean)
  return {
    title: 'Merchants',
    section: 'merchants',
    main: html`${pageHead({ title: 'Merchants' })}
${filterForm({
  path,
  search: query.search,
  placeholder: 'Id, public key, name, email or website',
  choices: [
    {
      name: 'test',
      label: 'Mode',
      value: query.test,
      options: [
        ['', 'Live and test'],
        ['false', 'Live'],
        ['true', 'Test'],
      ],
    },
  ],
})}
${listCard({
  label: 'Merchants',
  path,
  columns: merchantColumns(value.decimals),
  rows: value.merchants,
  next,
  query: { ...query },
  empty: emptyState(
    'merchants',
    isFiltered ? 'No merchant matches.' : 'There is no merchant yet. An app makes one by the API.',
  ),
})}`,
  }
}

function merchantColumns(decimals: Decimals): readonly Column<Merchant>[] {
  return [
    {
      label: 'Merchant',
      cell: ({ id, name }) => html`<a class="main-link" href="${merchantPath(id)}">${name ?? id}</a>`,
    },
    { label: 'Mode', kind: 'state', cell: ({ test }) => (test ? badge('Test') : badge('Live', 'good')) },
    { label: 'Balance', kind: 'number', cell: ({ balance, currency }) => money(balance, currency, decimals) },
    { label: 'Email', kind: 'gone', cell: ({ email }) => email },
    { label: 'Id', kind: 'wide', cell: ({ id }) => html`<code>${id}</code>` },
    { label: 'Created', kind: 'created', cell: ({ created }) => time(created) },
  ]
}

const flag = () => z.literal(true).optional()

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

export const LinesView = z.object({ lines: z.array(Line) })

const KINDS = [
  ['capture', 'Capture'],
  ['refund', 'Refund'],
  ['dispute', 'Lost dispute'],
  ['payout', 'Payout'],
  ['payoutReversal', 'Returned payout'],
  ['adjustment', 'Adjustment'],
] as const

/** Shows the lines of a merchant: the changes of its balance. */
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

function lineLink(line: Line): Html {
  const [kind, text] = KINDS.find(([name]) => line[name] === true) ?? ['', 'Line']
  const payoutId = kind === 'payout' || kind === 'payoutReversal' ? writtenId(line) : undefined
  if (line.transactionId !== undefined) return mainLink(transactionPath(line.transactionId), text)
  return payoutId === undefined ? html`<strong>${text}</strong>` : mainLink(payoutPath(payoutId), text)
}

function mainLink(path: string, text: string): Html {
  return html`<a class="main-link" href="${path}">${text}</a>`
}

/** Returns the id of the object of a line, or the text of an adjustment. */
function causeOf(line: Line): Html {
  const id = line.transactionId ?? (line.adjustment === true ? undefined : writtenId(line))
  return id === undefined ? orDash(line.description) : html`<code>${id}</code>`
}

/** Returns the id at the end of a description. A line of a payout has it only there. */
function writtenId({ description = '' }: Line): string | undefined {
  return /[0-9a-f]{24}$/.exec(description)?.[0]
}
