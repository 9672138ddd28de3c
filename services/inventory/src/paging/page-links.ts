/** Parameters by name, as they came. */
type Query = Readonly<Record<string, unknown>>

/**
 * The `Link` header of a page (RFC 8288): `first` always, `next` only when more rows exist.
 * @param path of the list, for example `/products`
 * @param query parameters of the request without `cursor`
 * @param nextCursor undefined on the last page
 */
export function pageLinks(path: string, query: Query, nextCursor?: string): string {
  const links = [`<${withQuery(path, query)}>; rel="first"`]
  if (nextCursor !== undefined) links.unshift(`<${withQuery(path, { ...query, cursor: nextCursor })}>; rel="next"`)
  return links.join(', ')
}

function withQuery(path: string, query: Query): string {
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])
  const text = new URLSearchParams(pairs).toString()
  return text === '' ? path : `${path}?${text}`
}
