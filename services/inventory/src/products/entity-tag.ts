import { createHash } from 'node:crypto'

const DIGEST_LENGTH = 22

/**
 * The strong validator of a product (RFC 9110, section 8.8.3; reference: Entity tags). Stock and times do not belong to the
 * version, so the tag of a representation that shows them also has a digest of it.
 * @param shown JSON of the product with what `include` asks for
 */
export function productTag(id: number, version: number, shown?: string): string {
  if (shown === undefined) return `"p${id}-${version}"`
  return `"p${id}-${version}-${createHash('sha256').update(shown).digest('base64url').slice(0, DIGEST_LENGTH)}"`
}

/** The strong validator of one version of a location. */
export function locationTag(id: number, version: number): string {
  return `"l${id}-${version}"`
}

/**
 * Whether an `If-None-Match` header names `tag`, by weak comparison (RFC 9110, section 13.1.2): `*`, or a list of tags,
 * each of them perhaps weak.
 */
export function namesTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((item) => item.trim().replace(/^W\//, '') === tag)
}

/**
 * The versions of a product (`p`) or a location (`l`) that an `If-Match` header names, by strong comparison (RFC 9110, section 13.1.1): weak tags and
 * tags of other things name none. Undefined for `*`, which any version meets. Whatever else a representation showed, a change is
 * based on the version of the product: a digest in the tag is not compared.
 */
export function matchedVersions(header: string, kind: 'p' | 'l', id: number): readonly number[] | undefined {
  if (header.trim() === '*') return undefined
  return header.split(',').flatMap((item) => {
    const [, tagged, number, version] = /^"([pl])(\d{1,16})-(\d{1,9})(?:-[\w-]{22})?"$/.exec(item.trim()) ?? []
    return tagged === kind && Number(number) === id ? [Number(version)] : []
  })
}
