import { type Html, html } from '@trestle/common/documents/html.ts'
import { money, type WithDecimals } from '../pages/money.ts'
import { card, count, dayChart, emptyState, lastDays } from '../pages/parts.ts'
import type { InventoryOverview, MerchantMode, PaymentsOverview, Seen } from './overview-view.ts'

/** A number with what it counts. */
export interface Stat {
  readonly label: string
  readonly value: Html | string
  readonly hint?: string
  /** The path of the list of what is counted. */
  readonly path?: string
  /** Whether somebody should look at what is counted. */
  readonly isDue?: boolean
}

/** Writes numbers side by side. */
export function statList(stats: readonly Stat[]): Html {
  return html`<div class="stats">${stats.map(({ label, value, hint, path, isDue }) => {
    const kind = isDue === true ? 'stat due' : value === '0' || value === 'none' ? 'stat none' : 'stat'
    const inner = html`<dl><dt>${label}</dt><dd>${value}</dd></dl>${hint === undefined ? undefined : html`<p class="hint">${hint}</p>`}`
    return path === undefined
      ? html`<div class="${kind}">${inner}</div>`
      : html`<a class="${kind}" href="${path}">${inner}</a>`
  })}</div>`
}

/** The part of a service that tells no numbers. */
export function unseen(name: string, seen: Exclude<Seen<unknown>, { readonly kind: 'seen' }>): Html {
  const { kind } = seen
  if (kind === 'refused') return emptyState('disputes', `${seen.message}.`)
  const setting = `${name.toUpperCase()}_OPERATOR_KEYS`
  if (kind === 'missing') return emptyState('overview', `${name} knows no operators: set ${setting} there.`)
  const subject = kind === 'away' ? name : `The database of ${name.toLowerCase()}`
  return emptyState('disputes', `${subject} does not answer. Its numbers are back as soon as it does.`)
}

/** Payments: what waits for somebody, and volume and declines by day. */
export function paymentsCard(seen: Seen<WithDecimals<PaymentsOverview>>, now: Date, mode: MerchantMode): Html {
  const other =
    mode === 'test'
      ? html`<a class="button quiet" href="/">Show live</a>`
      : html`<a class="button quiet" href="/?test=true">Show test</a>`
  const title = mode === 'test' ? 'Test payments' : 'Payments'
  if (seen.kind !== 'seen') return card(title, unseen('Payments', seen))
  const { value } = seen
  const jobs = value.deadJobs.reduce((sum, each) => sum + each.count, 0)
  const [due, ...others] = value.payoutsDue
  return card(
    title,
    html`${statList([
      {
        label: 'Open disputes',
        value: count(value.openDisputes),
        path: '/disputes?status=open',
        isDue: value.openDisputes > 0,
      },
      {
        // Payments tells balances, of which a payout leaves out what open disputes and young captures keep.
        label: 'Balances of merchants',
        value: due === undefined ? 'none' : money(due.amount, due.currency, value.decimals),
        path: `/merchants?test=${mode === 'test'}`,
        ...hintOf(others.map(({ amount, currency }) => money(amount, currency, value.decimals)).join(', ')),
      },
      {
        label: 'Exceptions',
        value: count(value.openExceptions + value.unknownAttempts),
        isDue: value.openExceptions + value.unknownAttempts > 0,
        ...hintOf(unknownOutcomes(value.unknownAttempts)),
        path: value.openExceptions === 0 && value.unknownAttempts > 0 ? '/attempts' : '/exceptions',
      },
      {
        label: 'Failed deliveries',
        value: count(value.failedDeliveries),
        path: '/deliveries?status=failed',
        isDue: value.failedDeliveries > 0,
      },
      {
        label: 'Dead jobs',
        value: count(jobs),
        isDue: jobs > 0,
        path: '/jobs',
        ...hintOf(value.deadJobs.map(({ task }) => task).join(', ')),
      },
    ])}
<div class="card-body charts">${paymentCharts(value, now)}</div>`,
    other,
  )
}

/** How many of the exceptions are authorizations without a known outcome, in words. Empty: none. */
function unknownOutcomes(number: number): string {
  if (number === 0) return ''
  return number === 1 ? '1 unknown outcome' : `${count(number)} unknown outcomes`
}

function hintOf(hint: string): { readonly hint?: string } {
  return hint === '' ? {} : { hint }
}

/** A chart of the volume of each currency, and one of what was declined in all of them. */
function paymentCharts({ days, decimals }: WithDecimals<PaymentsOverview>, now: Date): readonly Html[] {
  const dates = lastDays(now)
  const byCurrency = [...Map.groupBy(days, ({ currency }) => currency)]
  const valueOn = (rows: PaymentsOverview['days'], name: 'volume' | 'declines') =>
    dates.map((date) => ({
      date,
      value: rows.filter((row) => row.date === date).reduce((sum, row) => sum + row[name], 0),
    }))
  const volumes = byCurrency.map(([currency, rows]) =>
    dayChart({
      label: `Volume in ${currency}`,
      days: valueOn(rows, 'volume'),
      write: (value) => money(value, currency, decimals),
    }),
  )
  const empty = dayChart({ label: 'Volume', days: valueOn([], 'volume'), write: count })
  const declines = dayChart({ label: 'Declines', days: valueOn(days, 'declines'), tone: 'bad', write: count })
  return [...(volumes.length === 0 ? [empty] : volumes), declines]
}

/** Inventory: what there is, and what runs low. */
export function inventoryCard(seen: Seen<InventoryOverview>): Html {
  if (seen.kind !== 'seen') return card('Inventory', unseen('Inventory', seen))
  const { products, locations, lowStock, openReservations } = seen.value
  return card(
    'Inventory',
    statList([
      {
        label: 'Low stock',
        value: count(lowStock),
        hint: 'less than 10 available',
        path: '/stock/low',
        isDue: lowStock > 0,
      },
      { label: 'Open reservations', value: count(openReservations), path: '/reservations?status=active' },
      { label: 'Products', value: count(products), path: '/products' },
      { label: 'Locations', value: count(locations), path: '/locations' },
    ]),
  )
}
