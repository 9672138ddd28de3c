/** The strong validator of one version of a product (RFC 9110, section 8.8.3). */
export function productTag(id: number, version: number): string {
  return `"p${id}-${version}"`
}

/**
 * Whether an `If-None-Match` header names `tag`, by weak comparison (RFC 9110, section 13.1.2): `*`, or a list of tags,
 * each of them perhaps weak.
 */
export function namesTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((item) => item.trim().replace(/^W\//, '') === tag)
}
