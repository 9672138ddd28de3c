import { createHash } from 'node:crypto'
import { RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'

/** Returns the schema of `{ statusCode, data: […] }` for the OpenAPI document. `listBody` writes such bodies. */
export function listEnvelope<T extends z.ZodType>(
  record: T,
): z.ZodObject<{ statusCode: z.ZodLiteral<200>; data: z.ZodArray<T> }> {
  return z.object({ statusCode: z.literal(200), data: z.array(record) })
}

/** Returns the schema of `{ statusCode, data: {…} }`. `recordBody` writes such bodies. */
export function recordEnvelope<T extends z.ZodType, const Status extends number>(
  record: T,
  status: Status,
): z.ZodObject<{ statusCode: z.ZodLiteral<Status>; data: T }> {
  return z.object({ statusCode: z.literal(status), data: record })
}

export function listBody(records: readonly string[]): RawJson {
  return new RawJson(`{"statusCode":200,"data":[${records.join(',')}]}`)
}

/**
 * Returns the body of a list. It is read as fast as its client receives it.
 * @param pieces records separated by commas. No piece may be empty
 */
export function listStream(pieces: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return ReadableStream.from(writeList(pieces))
}

async function* writeList(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let before = '{"statusCode":200,"data":['
  for await (const piece of pieces) {
    yield Buffer.concat([Buffer.from(before), piece])
    before = ','
  }
  yield Buffer.from(before === ',' ? ']}' : `${before}]}`)
}

/** Returns the body `{ statusCode, data }` of a record from its JSON text, without parsing it. */
export function recordBody(statusCode: number, record: string): RawJson {
  return new RawJson(`{"statusCode":${statusCode},"data":${record}}`)
}

const DIGEST_LENGTH = 22

/**
 * Returns the entity tag of a product, a strong validator (RFC 9110, section 8.8.3; reference: Entity tags). Stock and times do
 * not change the version, so answers with them have a tag with a digest of the whole answer.
 * @param shown JSON of the product with the members of `include`
 */
export function productTag(id: number, version: number, shown?: string): string {
  if (shown === undefined) return `"p${id}-${version}"`
  return `"p${id}-${version}-${createHash('sha256').update(shown).digest('base64url').slice(0, DIGEST_LENGTH)}"`
}

/** Returns the entity tag of a location, a strong validator, from its id and version. */
export function locationTag(id: number, version: number): string {
  return `"l${id}-${version}"`
}

export function levelTag(
  { productId, locationId }: { readonly productId: number; readonly locationId: number },
  version: string,
): string {
  return `"s${productId}-${locationId}-${version}"`
}

/** Whether `If-None-Match` (`*` or a list of tags) contains `tag`, by weak comparison (RFC 9110, section 13.1.2). */
export function namesTag(header: string, tag: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((item) => item.trim().replace(/^W\//, '') === tag)
}

/**
 * Returns the versions of a product (`p`) or a location (`l`) in an `If-Match` header, by strong comparison (RFC 9110, section
 * 13.1.1). Weak tags and tags of other records contain no version. Returns `undefined` for `*`, which matches every version. The
 * digest in a tag is ignored, because a change depends only on the version.
 */
export function matchedVersions(header: string, kind: 'p' | 'l', id: number): readonly number[] | undefined {
  if (header.trim() === '*') return undefined
  return header.split(',').flatMap((item) => {
    const [, tagged, number, version] = /^"([pl])(\d{1,16})-(\d{1,9})(?:-[\w-]{22})?"$/.exec(item.trim()) ?? []
    return tagged === kind && Number(number) === id ? [Number(version)] : []
  })
}

/** Errors of every endpoint that queries the database, in addition to its own errors. */
export const outage = { 503: 'The database is unavailable, too slow or too contended' } as const

/** The errors of `outage`, plus those of endpoints that read a body. */
export const withBody = { 408: 'The body took longer than 15 s to arrive', ...outage } as const

/** The errors of `withBody`, plus those of endpoints that accept an Idempotency-Key. */
export const idempotent = { 422: 'The Idempotency-Key was used for another request', ...withBody } as const
