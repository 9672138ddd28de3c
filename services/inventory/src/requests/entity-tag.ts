import { createHash } from 'node:crypto'

const DIGEST_LENGTH = 22

/**
 * The entity tag of a product, a strong validator (RFC 9110, section 8.8.3; reference: Entity tags). Stock and times do not
 * belong to the version, so an answer that shows them has a tag with a digest of all it shows.
 * @param shown JSON of the product with the members that `include` names
 */
export function productTag(id: number, version: number, shown?: string): string {
  if (shown === undefined) return `"p${id}-${version}"`
  return `"p${id}-${version}-${createHash('sha256').update(shown).digest('base64url').slice(0, DIGEST_LENGTH)}"`
}

/** The entity tag of a location, from its id and version: a strong validator. */
export function locationTag(id: number, version: number): string {
  return `"l${id}-${version}"`
}

/** The entity tag of a stock level. */
export function levelTag(
  { productId, locationId }: { readonly productId: number; readonly locationId: number },
  version: string,
): string {
  return `"s${productId}-${locationId}-${version}"`
}

/** Whether an `If-None-Match` header (`*`, or a list of tags) names `tag`, by weak comparison (RFC 9110, section 13.1.2). */
export function namesTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((item) => item.trim().replace(/^W\//, '') === tag)
}

/**
 * The versions of a product (`p`) or a location (`l`) that an `If-Match` header names, by strong comparison (RFC 9110, section
 * 13.1.1). Weak tags and tags of other records name no version. Undefined for `*`, which every version matches. The digest in a
 * tag is not compared, because a change is based on the version alone.
 */
export function matchedVersions(header: string, kind: 'p' | 'l', id: number): readonly number[] | undefined {
  if (header.trim() === '*') return undefined
  return header.split(',').flatMap((item) => {
    const [, tagged, number, version] = /^"([pl])(\d{1,16})-(\d{1,9})(?:-[\w-]{22})?"$/.exec(item.trim()) ?? []
    return tagged === kind && Number(number) === id ? [Number(version)] : []
  })
}
