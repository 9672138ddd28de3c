import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import type { ServiceName } from '../service-calls/service-call.ts'
import type { ConsolePage } from './layout.ts'
import { badge, breakable, card, emptyState, type IconName, icon, pageHead, time } from './parts.ts'
import { merchantPath } from './paths.ts'

/** An object of any service that a search found. */
export interface Hit {
  readonly kind: string
  readonly id: string
  readonly title: string
  readonly path: string
  readonly icon: IconName
  /** Badges that distinguish the object from similar ones. */
  readonly badges?: readonly Html[]
  /** The creation time in ISO 8601. */
  readonly created?: string | null | undefined
}

/** The results of one service, or the reason why there are none. */
export interface Found {
  readonly service: ServiceName
  readonly label: string
  /** `undefined` if the service could not be searched. */
  readonly hits: readonly Hit[] | undefined
  /** The reason for that, or `undefined` if the service did not answer. */
  readonly problem?: string | undefined
  /** The list with all results, or `undefined` if all results are shown. */
  readonly allAt?: string | undefined
}

const FoundProduct = z.looseObject({ id: z.int(), sku: z.string() })
const FoundObject = z.object({
  kind: z.enum(['merchant', 'transaction', 'dispute', 'payout', 'app']),
  id: z.string(),
  title: z.string(),
})

const OBJECT_PATHS: Readonly<Record<z.infer<typeof FoundObject>['kind'], (id: string) => string>> = {
  merchant: merchantPath,
  transaction: (id) => `/transactions/${id}`,
  dispute: (id) => `/disputes/${id}`,
  payout: (id) => `/payouts/${id}`,
  app: (id) => `/apps?search=${id}`,
}

const OBJECT_ICONS = {
  merchant: 'merchants',
  transaction: 'transactions',
  dispute: 'disputes',
  payout: 'payouts',
  app: 'apps',
} as const satisfies Record<z.infer<typeof FoundObject>['kind'], IconName>

/** The results of payments without transactions, because the list of transactions shows more about them. */
export const PaymentsHits = z.object({ hits: z.array(FoundObject) }).transform(({ hits }): readonly Hit[] =>
  hits
    .filter(({ kind }) => kind !== 'transaction')
    .map(({ kind, id, title }) => ({
      kind,
      id,
      title,
      path: OBJECT_PATHS[kind](encodeURIComponent(id)),
      icon: OBJECT_ICONS[kind],
    })),
)

/** The products in an answer of inventory. */
export const ProductHits = z.object({ data: z.array(FoundProduct) }).transform(({ data }): readonly Hit[] =>
  data.map(({ id, sku }) => ({
    kind: 'product',
    id: String(id),
    title: sku,
    path: `/products/${id}`,
    icon: 'products',
  })),
)

/** The results of a search, with a card for each service that found something or does not answer. */
export function searchPage(text: string, found: readonly Found[]): ConsolePage {
  const isEmpty = found.every(({ hits }) => hits?.length === 0)
  return {
    title: text === '' ? 'Search' : `Search: ${text}`,
    search: text,
    main: html`${pageHead({ title: text === '' ? 'Search' : `Results for “${text}”` })}
${text === '' ? emptyCard('Type an email, an id, the last digits of a card, an amount, a SKU or words of a product into the field above.') : undefined}
${text !== '' && isEmpty ? emptyCard('Nothing matches. Names and emails are found by how they begin, products by their SKU and by words of their attributes, all else by its whole value.') : undefined}
<div class="stack">${found.filter(({ hits }) => hits?.length !== 0).map(foundCard)}</div>`,
  }
}

function emptyCard(text: string): Html {
  return html`<div class="card">${emptyState('search', text)}</div>`
}

function foundCard({ label, service, hits, problem, allAt }: Found): Html {
  if (hits === undefined) {
    const name = `${service.charAt(0).toUpperCase()}${service.slice(1)}`
    const text =
      problem === undefined
        ? `${name} does not answer, so nothing of it is found here now.`
        : `Nothing of ${service} is found here now. ${problem}.`
    return card(label, emptyState('disputes', text))
  }
  return card(
    label,
    html`<ul class="hits">${hits.map(
      (hit) =>
        html`<li>${icon(hit.icon)}<div><a class="main-link" href="${hit.path}">${breakable(hit.title)}</a><code class="hint">${hit.id}</code>${(hit.created ?? null) === null ? undefined : html`<span class="hint">${time(hit.created)}</span>`}</div><span class="badges">${hit.badges}${badge(hit.kind)}</span></li>`,
    )}</ul>${allAt === undefined ? undefined : html`<p class="card-body"><a href="${allAt}">${hits.length} shown, more in the list</a></p>`}`,
  )
}
