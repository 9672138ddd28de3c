import { type Html, html } from '@trestle/common/documents/html.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { badge, card, count, dayChart, lastDays, pageHead } from '../pages/parts.ts'
import { inventoryCard, paymentsCard, statList, unseen } from './overview-cards.ts'
import type { AuthOverview, MerchantMode, Overviews, Seen } from './overview-view.ts'

/** The data of the first page, and the moment that they are shown at. */
export interface ShownOverview {
  readonly overviews: Overviews
  readonly now: Date
  /** The merchants whose payments are counted. */
  readonly mode: MerchantMode
}

/** The first page: whether everything works, what waits for somebody, and the last 30 days. */
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
  if (seen.kind === 'away') return [badge('does not answer', 'bad')]
  if (seen.kind === 'missing') return [badge('knows no operators', 'bad')]
  if (seen.kind === 'refused') return [badge('tells nothing', 'bad')]
  return Object.entries(seen.kind === 'seen' ? seen.value.health : seen.health).map(([part, state]) =>
    state === 'ok' ? badge(`${part} ok`, 'good') : badge(`${part}: ${state}`, 'bad'),
  )
}

/** Auth: who there is, and sign-ups and sign-ins by day. */
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
