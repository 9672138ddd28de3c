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

/** The body of a list, from the JSON texts of its records. */
export function listBody(records: readonly string[]): RawJson {
  return new RawJson(`{"statusCode":200,"data":[${records.join(',')}]}`)
}

/**
 * The body of a list that is read as its client takes it.
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
