import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { ConsolePage } from '../pages/layout.ts'
import { Amount, money, type WithDecimals } from '../pages/money.ts'
import { badge, card, count, dayChart, emptyState, lastDays, pageHead } from '../pages/parts.ts'
import { enveloped } from '../service-calls/operator-calls.ts'

/** The data of the start page, and the present time. */
interface ShownOverview {
  readonly overviews: Overviews
  readonly now: Date
  /** Whether live or test payments are counted. */
  readonly mode: MerchantMode
}

/** The start page: the health of the services, the work for operators, and the last 30 days. */
export function overviewPage({ overviews, now, mode }: ShownOverview): ConsolePage {
  const { auth, payments, inventory } = overviews
  return {
    title: 'Overview',
    section: 'overview',
    main: html`${pageHead({ title: 'Overview' })}
<div class="stack">
${healthCard(overviews)}
${payments && paymentsCard(payments, now, mode)}
${auth && authCard(auth, now)}
${inventory && inventoryCard(inventory)}
</div>`,
  }
}

function healthCard(overviews: Overviews): Html {
  const rows = Object.entries(overviews).flatMap(([name, seen]: readonly [string, Overviews[keyof Overviews]]) =>
    seen === undefined ? [] : [healthRow(name, seen)],
  )
  return card('Services', html`<ul class="services">${rows}</ul>`)
}

function healthRow(name: string, seen: Seen<{ readonly health: Readonly<Record<string, string>> }>): Html {
  return html`<li><strong>${name}</strong><span class="badges">${badgesOf(seen)}</span></li>`
}

function badgesOf(seen: Seen<{ readonly health: Readonly<Record<string, string>> }>): readonly Html[] {
  if (seen.kind === 'unavailable') return [badge('does not answer', 'bad')]
  if (seen.kind === 'missing') return [badge('knows no operators', 'bad')]
  if (seen.kind === 'refused') return [badge('has no numbers', 'bad')]
  return Object.entries(seen.kind === 'seen' ? seen.value.health : seen.health).map(([part, state]) =>
    state === 'ok' ? badge(`${part} ok`, 'good') : badge(`${part}: ${state}`, 'bad'),
  )
}

/** Auth: the number of users, and sign-ups and sign-ins by day. */
function authCard(seen: Seen<AuthOverview>, now: Date): Html {
  if (seen.kind !== 'seen') return card('Users', unseen('Auth', seen))
  const { users, messages, days } = seen.value
  const byDate = new Map(days.map((day) => [day.date, day]))
  const valuesOf = (name: 'sign_ups' | 'sign_ins') =>
    lastDays(now).map((date) => ({ date, value: byDate.get(date)?.[name] ?? 0 }))
  return card(
    'Users',
    html`${statList([
      { label: 'Users', value: count(users.total), hint: `${count(users.confirmed)} confirmed`, path: '/users' },
      { label: 'Banned', value: count(users.banned) },
      { label: 'Messages that wait', value: count(messages.waiting), path: '/messages?status=waiting' },
      {
        label: 'Messages that failed',
        value: count(messages.failed),
        path: '/messages?status=failed',
        isDue: messages.failed > 0,
      },
    ])}
<div class="card-body charts">${dayChart({ label: 'Sign-ups', days: valuesOf('sign_ups'), write: count })}${dayChart({ label: 'Sign-ins', days: valuesOf('sign_ins'), tone: 'second', write: count })}</div>`,
  )
}

interface Stat {
  readonly label: string
  readonly value: Html | string
  readonly hint?: string
  /** The path of the list of the counted objects. */
  readonly path?: string
  /** Whether an operator should check the counted objects. */
  readonly isDue?: boolean
}

function statList(stats: readonly Stat[]): Html {
  return html`<div class="stats">${stats.map(({ label, value, hint, path, isDue }) => {
    const kind = isDue === true ? 'stat due' : value === '0' || value === 'none' ? 'stat none' : 'stat'
    const inner = html`<dl><dt>${label}</dt><dd>${value}</dd></dl>${hint === undefined ? undefined : html`<p class="hint">${hint}</p>`}`
    return path === undefined
      ? html`<div class="${kind}">${inner}</div>`
      : html`<a class="${kind}" href="${path}">${inner}</a>`
  })}</div>`
}

/** Returns the card of a service without numbers. */
function unseen(name: string, seen: Exclude<Seen<unknown>, { readonly kind: 'seen' }>): Html {
  const { kind } = seen
  if (kind === 'refused') return emptyState('disputes', `${seen.message}.`)
  const setting = `${name.toUpperCase()}_OPERATOR_KEYS`
  if (kind === 'missing') return emptyState('overview', `${name} knows no operators: set ${setting} there.`)
  const subject = kind === 'unavailable' ? name : `The database of ${name.toLowerCase()}`
  return emptyState('disputes', `${subject} does not answer. Its numbers are back as soon as it does.`)
}

/** Payments: the work for operators, and volume and declines by day. */
function paymentsCard(seen: Seen<WithDecimals<PaymentsOverview>>, now: Date, mode: MerchantMode): Html {
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
        // This is the sum of balances. A payout excludes the money of open disputes and recent captures.
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
        label: 'Dead-letter jobs',
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

/** Returns how many exceptions are authorizations with an unknown outcome, in words. Empty if there are none. */
function unknownOutcomes(number: number): string {
  if (number === 0) return ''
  return number === 1 ? '1 unknown outcome' : `${count(number)} unknown outcomes`
}

function hintOf(hint: string): { readonly hint?: string } {
  return hint === '' ? {} : { hint }
}

/** Returns a chart of the volume of each currency, and one of the declines in all currencies. */
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

/** Inventory: its counts and low stock. */
function inventoryCard(seen: Seen<InventoryOverview>): Html {
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

/** Whether merchants take customers' payments or test the service. */
type MerchantMode = 'live' | 'test'

/** The health of each dependency of a service: `ok`, or a short description of the problem. */
const Health = z.record(z.string(), z.string())
type Health = z.infer<typeof Health>

/** The overview of a service: counts and health, or only the health if its database does not answer. */
export type Reported<T> =
  | { readonly kind: 'seen'; readonly value: T }
  | { readonly kind: 'uncounted'; readonly health: Health }

function reportedOf<T>(counts: z.ZodType<T>): z.ZodType<Reported<T>> {
  return z.union([
    counts.transform((value) => ({ kind: 'seen', value }) as const),
    z.strictObject({ health: Health }).transform(({ health }) => ({ kind: 'uncounted', health }) as const),
  ])
}

/** The overview of auth (console reference: Overview of auth). */
const AuthCounts = z.looseObject({
  users: z.looseObject({ total: z.int(), confirmed: z.int(), banned: z.int() }),
  days: z.array(z.looseObject({ date: z.string(), sign_ups: z.int(), sign_ins: z.int() })),
  messages: z.looseObject({ waiting: z.int(), failed: z.int() }),
  health: Health,
})
type AuthOverview = z.infer<typeof AuthCounts>
export const ReportedByAuth: z.ZodType<Reported<AuthOverview>> = reportedOf(AuthCounts)

/** The overview of payments (console reference: Overview of payments). Amounts are in minor units. */
const PaymentsCounts = z.looseObject({
  days: z.array(
    z.looseObject({ date: z.string(), currency: z.string(), volume: Amount, captures: z.int(), declines: z.int() }),
  ),
  openDisputes: z.int(),
  payoutsDue: z.array(z.looseObject({ currency: z.string(), amount: Amount, merchants: z.int() })),
  openExceptions: z.int(),
  unknownAttempts: z.int(),
  failedDeliveries: z.int(),
  deadJobs: z.array(z.looseObject({ task: z.string(), count: z.int() })),
  health: Health,
})
export type PaymentsOverview = z.infer<typeof PaymentsCounts>
export const ReportedByPayments: z.ZodType<Reported<PaymentsOverview>> = reportedOf(PaymentsCounts)

const InventoryCounts = z.looseObject({
  products: z.int(),
  locations: z.int(),
  lowStock: z.int(),
  openReservations: z.int(),
  health: Health,
})
/** The overview of inventory (console reference: Routes of inventory). */
type InventoryOverview = z.infer<typeof InventoryCounts>
/** Inventory wraps the overview in an envelope. */
export const ReportedByInventory: z.ZodType<Reported<InventoryOverview>> = enveloped(reportedOf(InventoryCounts))

/** The overview of a service or the reason for its absence: no answer, no such route, or the message of another error. */
export type Seen<T> =
  | Reported<T>
  | { readonly kind: 'unavailable' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'refused'; readonly message: string }

/** A member is `undefined` if the service is not set up. */
export interface Overviews {
  readonly auth: Seen<AuthOverview> | undefined
  readonly payments: Seen<WithDecimals<PaymentsOverview>> | undefined
  readonly inventory: Seen<InventoryOverview> | undefined
}
