import type { Page } from './page-query.ts'

/** A page of a list with a total, whose neighbours the header `Link` names. */
export interface LinkedPage extends Page {
  /** Path of the request. */
  readonly path: string
  /** The number of all rows. */
  readonly total: number
  /** Further parameters of the query, which every page shares. */
  readonly query: Readonly<Record<string, string | undefined>>
}

/** The headers of a page: the number of all rows, and the neighbours. */
export function pageHeaders(page: LinkedPage): Record<string, string> {
  return { 'x-total-count': String(page.total), link: pageLinks(page) }
}

/** The header `Link` of a list that is read by cursors, undefined after its last row. */
export function cursorLink(path: string, query: LinkedPage['query'] & { readonly cursor: string }): string {
  return toLink(path, query, 'next')
}

/**
 * The header `Link` (RFC 8288) of a page: `next` where there is one, and `last`. Clients split it at every `,`, `;`
 * and `=`, so `page` comes first and values are percent-encoded (reference: Lists of users).
 */
function pageLinks({ path, page, perPage, total, query }: LinkedPage): string {
  const last = Math.max(1, Math.ceil(total / perPage))
  const link = (number: number, relation: string) =>
    toLink(path, { page: String(number), per_page: String(perPage), ...query }, relation)
  return [...(page < last ? [link(page + 1, 'next')] : []), link(last, 'last')].join(', ')
}

function toLink(path: string, query: LinkedPage['query'], relation: string): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  )
  return `<${path}?${pairs.join('&')}>; rel="${relation}"`
}
