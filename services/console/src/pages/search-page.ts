import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { ServiceName } from '../service-calls/service-call.ts'
import { type IconName, icon } from './icons.ts'
import type { ConsolePage } from './layout.ts'
import { badge, card, emptyState, pageHead } from './parts.ts'

/** Something that a text leads to, in any service. */
export interface Hit {
  readonly kind: string
  readonly id: string
  readonly title: string
  readonly path: string
  readonly icon: IconName
}

/** The results of one service, or that it did not answer. */
export interface Found {
  readonly service: ServiceName
  readonly label: string
  /** Undefined: the service did not answer. */
  readonly hits: readonly Hit[] | undefined
}

const FoundUser = z.looseObject({ id: z.string(), email: z.string().default(''), phone: z.string().default('') })
const FoundProduct = z.looseObject({ id: z.int(), sku: z.string() })
const FoundObject = z.object({
  kind: z.enum(['merchant', 'transaction', 'dispute', 'payout', 'app']),
  id: z.string(),
  merchantId: z.string().optional(),
  title: z.string(),
})

const OBJECT_PATHS: Readonly<Record<z.infer<typeof FoundObject>['kind'], (id: string, merchantId: string) => string>> =
  {
    merchant: (id) => `/merchants/${id}`,
    transaction: (id) => `/transactions/${id}`,
    dispute: (_id, merchantId) => `/disputes?merchant=${merchantId}`,
    payout: (_id, merchantId) => `/payouts?merchant=${merchantId}`,
    app: (id) => `/apps?search=${id}`,
  }

const OBJECT_ICONS = {
  merchant: 'merchants',
  transaction: 'transactions',
  dispute: 'disputes',
  payout: 'payouts',
  app: 'apps',
} as const satisfies Record<z.infer<typeof FoundObject>['kind'], IconName>

/** The users of an answer of auth. */
export const UserHits = z.object({ users: z.array(FoundUser) }).transform(({ users }): readonly Hit[] =>
  users.map(({ id, email, phone }) => ({
    kind: 'user',
    id,
    title: email || (phone && `+${phone}`) || 'User without an address',
    path: `/users/${id}`,
    icon: 'users',
  })),
)

/** The results of payments, of all kinds. */
export const PaymentsHits = z.object({ hits: z.array(FoundObject) }).transform(({ hits }): readonly Hit[] =>
  hits.map(({ kind, id, merchantId = '', title }) => ({
    kind,
    id,
    title,
    path: OBJECT_PATHS[kind](encodeURIComponent(id), encodeURIComponent(merchantId)),
    icon: OBJECT_ICONS[kind],
  })),
)

/** The products of an answer of inventory. */
export const ProductHits = z.object({ data: z.array(FoundProduct) }).transform(({ data }): readonly Hit[] =>
  data.map(({ id, sku }) => ({
    kind: 'product',
    id: String(id),
    title: sku,
    path: `/products/${id}`,
    icon: 'products',
  })),
)

/** The page of what was found for a text, with a card for each service that has found something or does not answer. */
export function searchPage(text: string, found: readonly Found[]): ConsolePage {
  const isEmpty = found.every(({ hits }) => hits?.length === 0)
  return {
    title: text === '' ? 'Search' : `Search: ${text}`,
    search: text,
    main: html`${pageHead({ title: text === '' ? 'Search' : `Results for “${text}”` })}
${text === '' ? emptyCard('Type an email, an id, the last digits of a card, an amount or a SKU into the field above.') : undefined}
${text !== '' && isEmpty ? emptyCard('Nothing is like that. Names, emails and SKUs are found by how they begin, all else by its whole value.') : undefined}
<div class="stack">${found.filter(({ hits }) => hits?.length !== 0).map(foundCard)}</div>`,
  }
}

function emptyCard(text: string): Html {
  return html`<div class="card">${emptyState('search', text)}</div>`
}

function foundCard({ label, service, hits }: Found): Html {
  if (hits === undefined) {
    return card(
      label,
      emptyState(
        'disputes',
        `${service.charAt(0).toUpperCase()}${service.slice(1)} does not answer, so nothing of it is found here now.`,
      ),
    )
  }
  return card(
    label,
    html`<ul class="hits">${hits.map(
      (hit) =>
        html`<li>${icon(hit.icon)}<div><a class="main-link" href="${hit.path}">${hit.title}</a><code class="hint">${hit.id}</code></div>${badge(hit.kind)}</li>`,
    )}</ul>`,
  )
}
