/** Headers by which browsers and previews say that the user has not opened the page yet. */
const MARKS: readonly (readonly [name: string, mark: RegExp])[] = [
  ['sec-purpose', /\bprefetch\b/i],
  ['purpose', /\b(prefetch|preview)\b/i],
  ['x-purpose', /\b(prefetch|preview)\b/i],
  ['x-moz', /\bprefetch\b/i],
]

/** Whether a request only prefetches a page that a user may open later. */
export function isPrefetch(headers: Readonly<Record<string, string | string[] | undefined>>): boolean {
  return MARKS.some(([name, mark]) => mark.test(String(headers[name] ?? '')))
}
