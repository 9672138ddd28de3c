import { createHash } from 'node:crypto'
import { RawJson } from '@trestle/endpoints/endpoints.ts'
import { z } from 'zod'

/** The schema of `{ statusCode, data: […] }`, for the OpenAPI document. `listBody` writes such bodies. */
export function listEnvelope<T extends z.ZodType>(
  record: T,
): z.ZodObject<{ statusCode: z.ZodLiteral<200>; data: z.ZodArray<T> }> {
  return z.object({ statusCode: z.literal(200), data: z.array(record) })
}

/** The schema of `{ statusCode, data: {…} }`. `recordBody` writes such bodies. */
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
 * The body of a list that is read as fast as its client takes it.
 * @param pieces records with commas between them; no piece is empty
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

/** The body `{ statusCode, data }` of one record, from its JSON text, which is not parsed again. */
export function recordBody(statusCode: number, record: string): RawJson {
  return new RawJson(`{"statusCode":${statusCode},"data":${record}}`)
}

const DIGEST_LENGTH = 22

/**
 * The entity tag of a product, a strong validator (RFC 9110, section 8.8.3; reference: Entity tags). Stock and times do not
 * belong to the version, so an answer with them has a tag with a digest of the whole answer.
 * @param shown JSON of the product with the members of `include`
 */
export function productTag(id: number, version: number, shown?: string): string {
  if (shown === undefined) return `"p${id}-${version}"`
  return `"p${id}-${version}-${createHash('sha256').update(shown).digest('base64url').slice(0, DIGEST_LENGTH)}"`
}

/** The entity tag of a location, from its id and version: a strong validator. */
export function locationTag(id: number, version: number): string {
  return `"l${id}-${version}"`
}

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
 * The versions of a product (`p`) or a location (`l`) in an `If-Match` header, by strong comparison (RFC 9110, section
 * 13.1.1). Weak tags and tags of other records name no version. Undefined for `*`, which every version matches. The digest in
 * a tag is not compared, because a change depends only on the version.
 */
export function matchedVersions(header: string, kind: 'p' | 'l', id: number): readonly number[] | undefined {
  if (header.trim() === '*') return undefined
  return header.split(',').flatMap((item) => {
    const [, tagged, number, version] = /^"([pl])(\d{1,16})-(\d{1,9})(?:-[\w-]{22})?"$/.exec(item.trim()) ?? []
    return tagged === kind && Number(number) === id ? [Number(version)] : []
  })
}

/** The errors of every endpoint that queries the database, in addition to its own. */
export const outage = { 503: 'The database is away, too slow or too contended' } as const

/** The errors of `outage`, and the errors of an endpoint that reads a body. */
export const withBody = { 408: 'The body took longer than 15 s to arrive', ...outage } as const

/** The errors of `withBody`, and the errors of an endpoint that takes an Idempotency-Key. */
export const idempotent = { 422: 'The Idempotency-Key was used for another request', ...withBody } as const
